"""Audits of very many stakeholders, compared with DuckDB and pandas for the same status matrix.

Each runs in a process of its own, start included, one after the other in turns, so that other load
affects all alike. `EVENHAND_ROWS` and `EVENHAND_STAKEHOLDERS` make the logs smaller.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from benchmarks.auditing import AUDIT, make_log, measure

ROWS = int(os.environ.get("EVENHAND_ROWS", 20_000_000))
STAKEHOLDERS = int(os.environ.get("EVENHAND_STAKEHOLDERS", 1_000_000))
ROUNDS = 3

# Three years, in order of time as logs are.
MANY = """
COPY (
  SELECT TIMESTAMP '2019-01-01' + to_microseconds(i * (1095 * 86400000000 // {rows})) AS moment,
         'household ' || lpad(CAST(hash(i) % 20000 AS VARCHAR), 5, '0') AS who,
         CAST(hash(i + 7) % 1000 AS DOUBLE) AS amount
  FROM range({rows}) t(i)
) TO '{path}' (FORMAT parquet)
"""
# Everybody once in each of twelve months; `rows` is the number of stakeholders.
MILLION = """
COPY (
  SELECT DATE '2021-01-01' + CAST(to_months(CAST(month AS INTEGER)) AS INTERVAL) AS moment,
         'person ' || lpad(CAST(i AS VARCHAR), 7, '0') AS who,
         CAST(hash(12 * i + month) % 1000 AS DOUBLE) AS amount
  FROM range({rows}) t(i), range(12) s(month) ORDER BY month, i
) TO '{path}' (FORMAT parquet)
"""
PLAIN = """
import duckdb
frame = duckdb.connect().sql('''
  SELECT who, date_trunc('month', moment) AS month, sum(amount) AS amount
  FROM read_parquet({path!r}) GROUP BY ALL
''').df()
status = frame.pivot(index='month', columns='who', values='amount').fillna(0.0).cumsum()
print(status.sub(status.mean(axis=1), axis=0).shape)
"""
MAPPED = ["--stakeholder", "who", "--time", "moment", "--amount", "amount", "--every", "month"]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = Path(name)
        _monthly(folder / "many.parquet", folder / "report.html")
        _million(folder / "million.parquet")


def _monthly(path: Path, out: Path) -> None:
    make_log(MANY, path, ROWS)
    argv = ["evenhand", "audit", str(path), *MAPPED]
    jobs = {
        "DuckDB and pandas": PLAIN.format(path=str(path)),
        "audit": AUDIT.format(argv=argv),
        "audit with its page": AUDIT.format(argv=[*argv, "--out", str(out)]),
    }
    found = {name: [] for name in jobs}
    for _ in range(ROUNDS):
        for name, code in jobs.items():
            found[name].append(measure(code))
    plain = min(found["DuckDB and pandas"])[0]
    print(f"{ROWS:,} rows, 20,000 stakeholders, monthly (best of {ROUNDS}, in turns):")
    for name, runs in found.items():
        seconds, memory = min(runs)
        print(
            f"  {name}: {seconds:.1f} s, {memory:.2f} GB, ratio {seconds / plain:.2f}", flush=True
        )
    path.unlink()


def _million(path: Path) -> None:
    make_log(MILLION, path, STAKEHOLDERS)
    seconds, memory = measure(AUDIT.format(argv=["evenhand", "audit", str(path), *MAPPED]))
    print(
        f"{STAKEHOLDERS:,} stakeholders at the end of each of 12 months: {seconds:.1f} s and "
        f"{memory:.2f} GB"
    )
