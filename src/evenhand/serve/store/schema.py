"""The tables of a store, version by version. A store of an older version is brought up to date."""

from __future__ import annotations

# Each step leads from the version before to the next. `{blob}` and `{tail}` are what SQLite and
# Postgres say differently. No two entries of a pool have one number: so no turn is given twice,
# whichever process writes.
VERSIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE pools (name TEXT PRIMARY KEY)",
        "CREATE TABLE entries (pool TEXT NOT NULL REFERENCES pools (name), "
        "number BIGINT NOT NULL, recorded BIGINT NOT NULL, actor TEXT NOT NULL, "
        "kind TEXT NOT NULL, body TEXT NOT NULL, digest {blob} NOT NULL, "
        "PRIMARY KEY (pool, number)) {tail}",
        "CREATE INDEX entries_undone ON entries (pool, number) WHERE kind = 'undo'",
        "CREATE TABLE snapshots (pool TEXT NOT NULL REFERENCES pools (name), "
        "number BIGINT NOT NULL, digest {blob} NOT NULL, state {blob} NOT NULL, "
        "PRIMARY KEY (pool, number))",
        "CREATE TABLE tokens (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash {blob} NOT NULL, "
        "created BIGINT NOT NULL)",
    ),
    (
        "CREATE TABLE answers (pool TEXT NOT NULL REFERENCES pools (name), actor TEXT NOT NULL, "
        "key TEXT NOT NULL, request {blob} NOT NULL, answer {blob} NOT NULL, "
        "PRIMARY KEY (pool, actor, key)) {tail}",
    ),
)
CURRENT = len(VERSIONS)


def statements(from_version: int, blob: str, tail: str) -> list[str]:
    """What leads from a version to the current one."""
    steps = VERSIONS[from_version:]
    return [statement.format(blob=blob, tail=tail) for step in steps for statement in step]
