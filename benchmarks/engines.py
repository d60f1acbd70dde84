"""The monthly audit of a long log on Spark (two cores of this machine), compared with DuckDB.

Each runs in a process of its own on the same Parquet file; Spark's start-up time is reported
separately. Shuffle bytes are from Spark's own event log. `EVENHAND_ROWS` makes the log smaller.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.auditing import LONG, make_log

ROWS = int(os.environ.get("EVENHAND_ROWS", 50_000_000))
CORES = 2
STAKEHOLDERS = 200

AUDIT = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
path, events = sys.argv[1:]
session, started = None, time.perf_counter()
from evenhand.auditing import audit
if events:
    from pyspark.sql import SparkSession
    builder = SparkSession.builder.master("local[{cores}]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.sql.shuffle.partitions", 2 * {cores})
    builder = builder.config("spark.driver.memory", "2g").config("spark.eventLog.enabled", "true")
    builder = builder.config("spark.eventLog.compress", "false")
    session = builder.config("spark.eventLog.dir", "file://" + events).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
begun = time.perf_counter()
answer = audit(
    path, stakeholder="who", time="moment", amount="amount", every="month",
    engine="spark" if events else None,
)
ended = time.perf_counter()
if session is not None:
    session.stop()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
digest = answer.origin["fingerprint"]
print(json.dumps([begun - started, ended - begun, memory, answer.score, digest]))
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="evenhand-bench-") as name:
        folder = Path(name)
        path = folder / "long.parquet"
        make_log(LONG, path, ROWS)
        size = path.stat().st_size
        print(f"{ROWS:,} rows, {STAKEHOLDERS} stakeholders, five years: {size / 1e6:,.0f} MB")
        _, duckdb, *_, score, digest = _run(path, None)
        _print_rate("DuckDB", 0.0, duckdb)
        (folder / "events").mkdir()
        starting, spark, memory, other, same = _run(path, folder / "events")
        _print_rate("Spark", starting, spark)
        assert abs(score - other) <= 1e-9 * abs(score)
        moved, spilled = _shuffled(folder / "events")
        digests = (
            "the same digest" if digest == same else "different digests (sums in another order)"
        )
        print(
            f"Spark takes {spark / duckdb:.1f} times as long as DuckDB; it shuffled "
            f"{moved / 1e6:.2f} MB ({moved / ROWS:.3f} bytes per row), spilled {spilled / 1e6:.2f} "
            f"MB; the driver's Python needed at most {memory:.2f} GB; "
            f"{digests}",
            flush=True,
        )


def _print_rate(name: str, starting: float, seconds: float) -> None:
    start = f" after {starting:.1f} s to start" if starting else ""
    rate = ROWS / seconds / CORES
    print(f"{name}: {seconds:.1f} s{start}, {rate:,.0f} rows per second and core", flush=True)


def _run(path: Path, events: Path | None) -> list:
    code = AUDIT.replace("{cores}", str(CORES))
    done = subprocess.run(
        [sys.executable, "-c", code, str(path), str(events or "")],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _shuffled(folder: Path) -> tuple[int, int]:
    """Bytes shuffled, and bytes spilled to disk, over all tasks."""
    moved = spilled = 0
    for log in (path for path in folder.rglob("*") if path.is_file()):
        for line in log.read_text(errors="replace").splitlines():
            if '"SparkListenerTaskEnd"' not in line:
                continue
            metrics = json.loads(line).get("Task Metrics") or {}
            moved += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
            spilled += metrics.get("Disk Bytes Spilled", 0)
    return moved, spilled
