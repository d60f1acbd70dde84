"""Killed at 20 random moments each, every verb goes on to the numbers of an undisturbed run.

A life of a process is ended by SIGKILL after a random part of the time that it takes; the next
life goes on from what is there. Moments lie anywhere: while it starts, works, writes, or ends.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from waiting import HANG, group_is_over, wait_until

# Twenty lives take as long as the machine is busy: only a hang takes an hour.
pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]

KILLS = 20

# Saving more often than anybody needs, so that there is more to go on from.
OFTEN = """
from evenhand.lab import runs
runs.SAVE_EVERY, runs.SAVING_SHARE = 0.05, 1.0
"""
WATCHED_OFTEN = """
from evenhand.cli import monitor
monitor.SAVED_EVERY = 0.02
"""
SMALL_FIGURE = """
from evenhand import Doughnuts
from evenhand.lab.reproduction import FIGURES, Figure, FigurePart
parts = {
    "paper": FigurePart("paper", ("full", "oracle"), 3_000),
    "best": FigurePart("best", ("random",), 3_000),
}
FIGURES["small"] = Figure("A small figure", Doughnuts(2, 4, 0.8), False, parts)
"""


def command(*arguments, first=""):
    """The command line, with something done first."""
    code = f"{first}\nfrom evenhand.cli import main\nmain()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def end(process, rng):
    """Kill the process, at times with all that it started; wait until none of them is left."""
    if rng.random() < 0.5:
        os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
    assert wait_until(lambda: group_is_over(process.pid))


def shorter(longest, took):
    """Within what time the next life is to be ended: a machine that is less busy is quicker."""
    return max(took, longest / 2)


@dataclass
class Lives:
    """Runs of one command, each in a folder of its own, killed again and again."""

    command: object  # of a folder
    numbers: object  # what came of it, from the folder and what it printed
    folder: Path
    rng: random.Random
    kills: int = 0
    longest: float = 0.0

    def live(self, number):
        """One life, to its end or to a random moment before; what it printed, if it ended."""
        started = time.monotonic()
        process = subprocess.Popen(
            self.command(self.folder / str(number)),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        limit = HANG if number == 0 or self.kills == KILLS else self.rng.uniform(0, self.longest)
        try:
            out, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            assert limit < HANG, "it hangs"
            self.kills += 1
            end(process, self.rng)
            process.stdout.close()
            return None
        assert process.returncode == 0
        self.longest = shorter(self.longest, time.monotonic() - started)
        return self.numbers(self.folder / str(number), out)

    def all_are_alike(self):
        """Whether every run that came to its end has the numbers of the undisturbed one."""
        (self.folder / "0").mkdir()
        expected, number = self.live(0), 1
        (self.folder / "1").mkdir()
        while True:
            found = self.live(number)
            if found is None:
                continue
            assert found == expected, f"run {number}, after {self.kills} kills in all"
            if self.kills == KILLS:
                return number
            number += 1
            (self.folder / str(number)).mkdir()


def without_times(answer):
    """The numbers of an answer without how long they took."""
    if isinstance(answer, dict):
        return {k: without_times(v) for k, v in answer.items() if not k.endswith("seconds")}
    return [without_times(one) for one in answer] if isinstance(answer, list) else answer


def printed(folder, out):
    return without_times(json.loads(out.replace(str(folder), "there")))


SHOP = ("doughnuts", "--stakeholders", "2", "--horizon", "4", "--presence", "0.8", "--json")


def test_train(tmp_path):
    def train(folder):
        asked = ("--method", "full", "--seeds", "2", "--steps", "40000", "--out", folder / "run")
        return command("train", *SHOP, *asked, first=OFTEN)

    assert Lives(train, printed, tmp_path, random.Random(1)).all_are_alike()


def test_compare(tmp_path):
    def compare(folder):
        asked = ("--methods", "full,min", "--seeds", "2", "--steps", "4000")
        return command("compare", *SHOP, *asked, "--out", folder)

    def numbers(folder, out):
        return printed(folder, out), (folder / "curves.csv").read_bytes()

    assert Lives(compare, numbers, tmp_path, random.Random(2)).all_are_alike()


def test_reproduce(tmp_path):
    def reproduce(folder):
        return command(
            "reproduce", "small", "--seeds", "2", "--json", "--out", folder, first=SMALL_FIGURE
        )

    def numbers(folder, out):
        curves = sorted(folder.rglob("curves.csv"))
        return printed(folder, out), [file.read_bytes() for file in curves]

    assert Lives(reproduce, numbers, tmp_path, random.Random(3)).all_are_alike()


def test_audit(tmp_path):
    rng, log = np.random.default_rng(0), tmp_path / "log.csv"
    who, amounts = rng.integers(0, 8, 30_000), rng.integers(0, 9, 30_000)
    rows = [f"{k // 10},w{w},{a}\n" for k, (w, a) in enumerate(zip(who, amounts, strict=True))]
    log.write_text("at,who,doses\n" + "".join(rows))

    def audit(folder):
        asked = ("--stakeholder", "who", "--time", "at", "--amount", "doses", "--welfare", "rawls")
        there = ("--out", folder / "report.html", "--csv", folder / "tables", "--json")
        return command("audit", log, *asked, *there)

    def numbers(folder, out):
        tables = sorted((folder / "tables").glob("*.csv"))
        assert (folder / "report.html").read_bytes().rstrip().endswith(b"</html>")
        return printed(folder, out), [file.read_bytes() for file in tables]

    assert Lives(audit, numbers, tmp_path, random.Random(4)).all_are_alike()


def test_monitor(tmp_path):
    """Its input is given to it from where its state says that it had come to."""
    rng, dice = np.random.default_rng(0), random.Random(5)
    who, amounts = rng.integers(0, 4, 40_000), rng.integers(0, 9, 40_000)
    lines = [
        b'{"time": %d, "stakeholder": "w%d", "amount": %d, "id": %d}\n' % (k // 10, w, a, k)
        for k, (w, a) in enumerate(zip(who, amounts, strict=True))
    ]
    names = [part for k in range(4) for part in ("--name", f"w{k}")]
    asked = ("--amount", "amount", "--id", "id", "--welfare", "rawls", "--temporal", "total")

    def live(state, longest):
        """One life: what it wrote in whole lines, and whether it came to its end."""
        taken = json.loads(state.read_text())["reader"]["counts"]["lines"] if state.exists() else 0
        process = subprocess.Popen(
            command("monitor", *names, *asked, "--state", state, "--over", first=WATCHED_OFTEN),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        ended = threading.Timer(HANG if longest is None else dice.uniform(0, longest), process.kill)
        ended.start()
        out, _ = process.communicate(b"".join(lines[taken:]))
        ended.cancel()
        return out[: out.rfind(b"\n") + 1].splitlines(), process.returncode == 0

    started = time.monotonic()
    whole, _ = live(tmp_path / "whole.json", None)
    longest = time.monotonic() - started
    kills, number, found = 0, 0, []
    while kills < KILLS or found:
        started = time.monotonic()
        written, is_over = live(tmp_path / f"{number}.json", longest if kills < KILLS else None)
        found += written
        if not is_over:
            kills += 1
            continue
        longest = shorter(longest, time.monotonic() - started)
        # What is written after the last save is written again, and the same, by the next life.
        assert list(dict.fromkeys(found)) == whole
        number, found = number + 1, []
    assert number > 0
