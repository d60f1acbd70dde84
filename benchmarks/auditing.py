"""Audits of long logs, compared with the plain query that computes the same status matrix.

Each runs in a process of its own, to measure its own peak memory. The logs are made in a temporary
folder and removed. `EVENHAND_ROWS` makes them smaller for a quick look.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS = int(os.environ.get("EVENHAND_ROWS", 100_000_000))
EVENTS = min(10_000_000, ROWS)

# 200 stakeholders over five years, in order of time as logs are.
LONG = """
COPY (
  SELECT TIMESTAMP '2018-01-01' + to_microseconds(i * (1826 * 86400000000 // {rows})) AS moment,
         'district ' || lpad(CAST(hash(i) % 200 AS VARCHAR), 3, '0') AS who,
         CAST(hash(i + 7) % 1000 AS DOUBLE) AS amount
  FROM range({rows}) t(i)
) TO '{path}' (FORMAT parquet)
"""
ANYTIME = """
COPY (
  SELECT i AS moment, 'ward ' || CAST(hash(i) % 50 AS VARCHAR) AS who,
         CAST(hash(i + 7) % 10 AS DOUBLE) AS amount
  FROM range({rows}) t(i)
) TO '{path}' (FORMAT parquet)
"""
PLAIN = """
import duckdb, sys
relation = duckdb.connect().sql('''
  SELECT who, month, sum(amount) OVER (PARTITION BY who ORDER BY month) AS status
  FROM (SELECT who, date_trunc('month', moment) AS month, sum(amount) AS amount
        FROM read_parquet({path!r}) GROUP BY ALL)
  ORDER BY month, who
''')
print(len(relation.fetchnumpy()['status']))
"""
AUDIT = "import sys; from evenhand.cli import main; sys.argv = {argv!r}; main()"
REAL = Path(__file__).parents[2] / "shared" / "data" / "us_state_vaccinations.csv"


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as folder:
        _monthly(Path(folder) / "long.parquet")
        _anytime(Path(folder) / "anytime.parquet")
    _real()


def _monthly(path: Path) -> None:
    make_log(LONG, path, ROWS)
    mapped = ["--stakeholder", "who", "--time", "moment", "--amount", "amount"]
    argv = ["evenhand", "audit", str(path), *mapped, "--every", "month"]
    plain, audit = [], []
    for _ in range(3):  # alternating, so that other load affects both
        plain.append(measure(PLAIN.format(path=str(path))))
        audit.append(measure(AUDIT.format(argv=argv)))
    (before, _), (after, memory) = min(plain), min(audit)
    print(
        f"monthly audit of {ROWS:,} rows, 200 stakeholders: {after:.1f} s and {memory:.2f} GB; the "
        f"plain query {before:.1f} s (ratio {after / before:.2f})",
        flush=True,
    )
    path.unlink()


def _anytime(path: Path) -> None:
    make_log(ANYTIME, path, EVENTS)
    mapped = ["--stakeholder", "who", "--time", "moment", "--amount", "amount"]
    argv = ["evenhand", "audit", str(path), *mapped, "--each-event"]
    seconds, memory = measure(AUDIT.format(argv=argv))
    print(
        f"anytime audit of {EVENTS:,} events, 50 stakeholders: {seconds:.1f} s and {memory:.2f} GB",
        flush=True,
    )


def _real() -> None:
    if not REAL.exists():
        print("the real log is not available")
        return
    mapped = ["--stakeholder", "location", "--time", "date", "--amount", "total_distributed"]
    argv = ["evenhand", "audit", str(REAL), *mapped, "--cumulative", "--every", "month"]
    seconds, memory = min(measure(AUDIT.format(argv=argv)) for _ in range(3))
    print(f"the real log, from the shell: {seconds:.2f} s and {memory:.2f} GB")


def make_log(query: str, path: Path, rows: int) -> None:
    import duckdb

    duckdb.connect().execute(query.format(rows=rows, path=path))


def measure(code: str) -> tuple[float, float]:
    """Seconds and peak memory in GB of a Python process."""
    program = (
        "import resource, sys\n"
        f"try:\n    exec({code!r})\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)\n"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - started
    return seconds, int(done.stderr.split()[-1]) / 1e6
