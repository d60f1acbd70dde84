"""Odd files and options, by the hundred: each is answered or refused in a sentence.

`make fuzz` tries thousands, of every verb; tests/system/test_long_fuzz.py some of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from fuzzing.commands import WITHOUT_JAX
from fuzzing.fuzz import fuzz
from fuzzing.runner import Outcome, Runner, _ended, judged
from fuzzing.tables import Table
from fuzzing.trial import SECRET, Plain, Trial

GOOD = Outcome("accepted")


@pytest.fixture(scope="module")
def runner():
    with Runner(learned=False) as runner:
        yield runner


def test_nothing_breaks_audit_and_monitor(runner):
    summary = fuzz(80, 1, runner, verbs=WITHOUT_JAX)
    assert not summary.failures, f"\n{summary.table()}\n\n{summary.complaints()}"
    for kind in ("accepted", "sentence"):  # it comes to answers, too
        assert sum(n for (_, found), n in summary.counts.items() if found == kind) > 5


@pytest.mark.parametrize(
    ("code", "out", "err", "kind"),
    [
        (0, "score 1.5", "", "accepted"),
        (1, "score 1.5", "", "threshold"),
        (2, "", "evenhand: this is wrong: do that.\n", "sentence"),
        (70, "", "evenhand: this is a mistake in evenhand, not yours\n", "traceback"),
        (1, "", "Traceback (most recent call last)\nKeyError: 'x'\n", "traceback"),
        (2, "", f"evenhand: {'x' * 600}\n", "too long"),
        (2, "", "evenhand: one.\nevenhand: two.\n", "not a sentence"),
        (2, "", "Usage: evenhand\n", "not a sentence"),
        (2, "", "", "not a sentence"),
        (0, "", "x.py:1: RuntimeWarning: invalid value\n", "not a sentence"),
        (0, "score nan", "", "bad answer"),
        (0, "score −inf", "", "bad answer"),
        (0, "the name of nancy, informed", "", "accepted"),
        (120, "", "", "bad answer"),
    ],
)
def test_what_went_wrong_is_seen(tmp_path, code, out, err, kind):
    (tmp_path / "stdout").write_text(out)
    (tmp_path / "stderr").write_text(err)
    assert judged(Trial("audit", ("audit", "log.csv")), code, tmp_path).kind == kind


@pytest.mark.system  # takes seconds
@pytest.mark.parametrize(
    ("program", "words"),
    [("import time; time.sleep(99)", "waits"), ("while True: pass", "works and works")],
)
def test_a_hang_is_noticed_whether_it_works_or_waits(runner, monkeypatch, program, words):
    monkeypatch.setattr(runner, "work_limit", 0.3)
    monkeypatch.setattr(runner, "idle_limit", 0.6)
    with subprocess.Popen([sys.executable, "-c", program]) as process:
        with pytest.raises(TimeoutError, match=words):
            runner._watch(process, lambda seconds: _ended(process, seconds))
        process.kill()


def test_a_trial_is_made_smaller_piece_by_piece():
    table = Table("csv", ("who",), (("A",), ("B",)), damage=(("cut", 0.5, 0),))
    trial = Trial("audit", ("audit", "log.csv", "--json"), {"log.csv": table}, stdin=b"ab")
    smaller = trial.smaller()
    assert ("audit", "log.csv") in {one.arguments for one in smaller}
    assert all(one.files == {} for one in smaller if "log.csv" not in one.arguments)
    assert {len(one.files["log.csv"].rows) for one in smaller if one.files} == {1, 2}
    assert {one.stdin for one in smaller} == {b"ab", b"a", b"b"}
    assert Plain(b"x").smaller() == []


def test_the_same_seed_tries_the_same(runner, monkeypatch):
    seen = []
    for _ in range(2):
        tried = []
        monkeypatch.setattr(runner, "run", lambda trial, tried=tried: tried.append(trial) or GOOD)
        fuzz(30, 7, runner, verbs=WITHOUT_JAX)
        seen.append(tried)
    assert seen[0] == seen[1]
    assert len({trial.arguments for trial in seen[0]}) > 20


def test_what_no_command_named_is_not_told(tmp_path):
    (tmp_path / "stdout").write_text(f"treated worst: {SECRET}")
    (tmp_path / "stderr").write_text("")
    assert judged(Trial("audit", ("audit", "log.csv")), 0, tmp_path).kind == "bad answer"
