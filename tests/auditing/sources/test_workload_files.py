"""Job logs in the Standard Workload Format."""

from __future__ import annotations

import gzip
import json

import pytest

from command_line import evenhand
from evenhand import best_there_was, smallest_change
from read_alone import audit, rows_read

HEADER = "; Version: 2.2\n; Computer: Test\n;UnixStartTime: 1000000000\n; Note: a: b\n"
# job submit wait run processors … user: 4 × 100 for user 3, 8 requested × 50 for user 5
JOBS = """
  1      0 10 100  4 -1 -1  4 200 -1 1 3 1 -1 1 -1 -1 -1
  2     50 -1  -1  1 -1 -1  1 200 -1 5 3 1 -1 1 -1 -1 -1
  3  86400  0  50 -1 -1 -1  8 200 -1 1 5 1 -1 1 -1 -1 -1
  4  86500  0  10 30 -1 -1 30 200 -1 1 5 1 -1 1 -1 -1 -1
"""
NAMED = {"stakeholder": "user", "time": "start", "amount": "processor_seconds"}


def test_what_each_user_was_given(tmp_path, run):
    log = tmp_path / "log.swf"
    log.write_text(HEADER + JOBS)
    found = audit(str(log), every="day")  # with no column named
    assert {one.name: one.final for one in found.by_stakeholder} == {"3": 400, "5": 700}
    assert found.over_time.times == ("2001-09-09", "2001-09-10")  # 10⁹ s is 01:46:40 on the 9th
    assert audit([log], time="submit").over_time.times[0] == "2001-09-09 01:46:40"
    code, out, _ = run(str(log), "--every", "day", "--no-chance", "--json")  # with no column named
    assert (code, json.loads(out)["score"]) == (0, found.score)
    packed = tmp_path / "log.swf.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    assert rows_read(str(packed), **NAMED) == (rows_read(str(log), **NAMED))._replace(
        label=str(packed)
    )
    waits = audit(str(log), stakeholder="user", wait_from="submit", wait_to="start", at_end=True)
    assert waits.overall.assessments == 1


@pytest.mark.parametrize("verb", ["replay", "train"])
def test_no_verb_needs_the_columns_named(tmp_path, verb):
    log = tmp_path / "log.swf"
    log.write_text(HEADER + JOBS)
    done = evenhand(verb, str(log), "--every", "day", "--json")
    if verb == "replay":
        assert json.loads(done.stdout)["logged"]["score"] == audit(str(log), every="day").score
    else:  # it was read, and has two days
        assert "too short to be cut into blocks: it covers 2 days" in done.stderr


def test_looking_back_needs_none_either(tmp_path):
    log = tmp_path / "log.swf"
    log.write_text(HEADER + JOBS)
    assert best_there_was(str(log), at_end=True, welfare="rawls").actual == 400
    assert smallest_change(str(log), raise_worst_to=500).amount == pytest.approx(100)


def test_times_stay_numbers_without_a_beginning(tmp_path):
    log = tmp_path / "log.swf"
    for header in ("", "; UnixStartTime: 0\n", "; UnixStartTime: unknown\n"):
        log.write_text(header + JOBS)
        times = [time for time, _, amount in rows_read(str(log), **NAMED).rows if amount]
        assert times == ["10", "86400", "86500"]


@pytest.mark.parametrize("line", ["1 2 3", "x" + " 1" * 17, "1 " * 19, "inf" + " 1" * 17])
def test_a_line_that_is_not_a_job(tmp_path, refuses, line):
    log = tmp_path / "log.swf"
    log.write_text(HEADER + JOBS + line + "\n")
    refuses(("line 10 is not 18 numbers",), str(log))
