"""What a rule decided as a log like any other, in the columns of the log that was replayed."""

from __future__ import annotations

import csv
import os
import tempfile
from pathlib import Path

import numpy as np

from evenhand._util.files import write_whole
from evenhand._util.moments import moment_labels
from evenhand.decide.replay.replay_answer import Outcome, ReplayAnswer
from evenhand.errors import BadParameter, argument
from evenhand.log.options import AuditOptions
from evenhand.log.text_files import parquet_copy

KINDS = (".csv", ".parquet")


def require_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a name that says no format."""
    if Path(path).suffix.lower() not in KINDS:
        raise BadParameter(
            f"{argument('out')} is {os.fspath(path)!r}: a replayed log is written to a name that "
            "ends in .csv or .parquet, and a page to one that ends in .html."
        )


def write_replayed(
    path: str | os.PathLike[str], answer: ReplayAnswer, outcome: Outcome, options: AuditOptions
) -> None:
    """Write who got what when: whole or not at all.

    Args:
        path: A name that ends in .csv or .parquet.
        answer: The replay.
        outcome: Which of its rules.
        options: What the columns are called.
    """
    require_writable(path)
    with tempfile.TemporaryDirectory(prefix="evenhand-") as folder:
        log = Path(folder) / "log.csv"
        _write_csv(log, answer, outcome, options)
        if Path(path).suffix.lower() == ".parquet":
            kinds = ("DOUBLE" if answer.plain_numbers else "TIMESTAMP", "VARCHAR", "DOUBLE")
            log = parquet_copy(log, dict(zip(_columns(options), kinds, strict=True)))
        write_whole(path, log.read_bytes())


def _write_csv(path: Path, answer: ReplayAnswer, outcome: Outcome, options: AuditOptions) -> None:
    given, supply = outcome.given, answer.supply
    labels, names = moment_labels(supply.moments), supply.names
    amount = given.amount
    if options.cumulative:  # read again as the log is, each row is all that was received by then
        amount = _running_totals(given.who, amount)
    if bool((amount == np.rint(amount)).all()) and bool((np.abs(amount) < 2**53).all()):
        amount = amount.astype(np.int64)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_columns(options))
        columns = (given.slot.tolist(), given.who.tolist(), amount.tolist())
        writer.writerows(
            (labels[slot], names[who], much) for slot, who, much in zip(*columns, strict=True)
        )


def _running_totals(who: np.ndarray, amount: np.ndarray) -> np.ndarray:
    """What each had received by each of its rows, which are in order of time."""
    had: dict[int, float] = {}
    found = []
    for one, much in zip(who.tolist(), amount.tolist(), strict=True):
        had[one] = had.get(one, 0.0) + much
        found.append(had[one])
    return np.array(found, dtype=float)


def _columns(options: AuditOptions) -> tuple[str, str, str]:
    return options.time, options.stakeholder, options.amount or "amount"
