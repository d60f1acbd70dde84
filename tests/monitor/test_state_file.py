"""A monitor's saved state: it goes on, or one sentence says what of the file is wrong."""

from __future__ import annotations

import json
import os

import pytest

from evenhand import Rawls, Window, Worst, periodic
from evenhand.errors import BadFile, BadParameter
from evenhand.log.options import SchemeOptions
from evenhand.monitor import Monitor
from evenhand.monitor.json_reader import REMEMBERED_IDS, Keys, Reader
from evenhand.monitor.state_file import load_state, make_monitor, save_state

NAMES = ("A", "B")


def start():
    return Monitor(periodic(3, Rawls(), Worst()), NAMES), Reader(Keys(id="id"), NAMES)


def lines(times):
    return [b'{"time": %d, "stakeholder": "A", "id": %d}' % (t, t) for t in times]


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "state.json"
    monitor, reader = start()
    monitor.take(reader.read(lines(range(6))))
    save_state(monitor, reader, path)
    return path


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (("monitor", "late"), "many", "'monitor.late' must be a number"),
        (("monitor", "late"), 1.5, "'monitor.late' must be a whole number"),
        (("monitor", "alarmed"), 1, "'monitor.alarmed' must be true or false"),
        (("monitor", "last_at"), None, "'monitor.last_at' is None, and must be a finite number"),
        (("monitor", "begun"), "yes", "'monitor.begun' is 'yes', and must be true or false"),
        (("monitor", "open"), [1.0], r"'monitor.open' must be numbers in the shape \(2,\)"),
        (("monitor", "open"), [[1.0], [2.0]], r"'monitor.open' must be of float64, not \[1.0\]"),
        (("monitor", "open"), [None, 1.0], "'monitor.open' must be of float64, not None"),
        (("monitor", "totals", "below"), [True, 1], "'monitor.totals.below' must be of int64"),
        (("monitor", "totals", "below"), [2**70, 1], "do not fit together"),
        (("monitor", "totals"), [], "'monitor.totals' must be a table of assessments"),
        (("monitor", "stream"), [], "'monitor.stream' must be a list of 4"),
        (("monitor", "stream", 0), [1], "'monitor.stream.0' must be a list of 4"),
        (("monitor", "stream", 0), [], "'monitor.stream.0' must be a list of 4"),
        (("monitor", "stream", 0), 5, "'monitor.stream.0' must be a list of 4"),
        (("monitor", "extra"), 1, "'monitor' must be a table of begun"),
        (("monitor",), None, "'monitor' is None, and must be a table"),
        (("reader", "ids"), [[1]], "'reader.ids' must be at most 100,000 numbers and texts"),
        (("reader", "ids"), [0] * (REMEMBERED_IDS + 1), "'reader.ids' must be at most"),
        (("reader", "ids"), [2**64], "'reader.ids' must be at most"),
        (("reader", "ids"), [-(2**63) - 1], "'reader.ids' must be at most"),
        (("reader", "extra"), 1, "'reader.extra' is nothing that this version"),
        (("reader", "counts", "lines"), -1, "'reader.counts.lines' is -1, and must be a whole"),
        (("reader", "counts", "cats"), 1, "'reader.counts.cats' is nothing that this version"),
        (("reader", "plain_numbers"), 3, "'reader.plain_numbers' is 3, and must be true or false"),
        (("reader", "latest"), "x", "'reader.latest' is 'x', and must be a finite number"),
        (("watches",), 0, "watched something else"),
        (("format",), [2], r"its format is \[2\], and this version reads 2"),
    ],
)
def test_what_is_wrong_is_named(saved, place, value, sentence):
    state = inner = json.loads(saved.read_text())
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    saved.write_text(json.dumps(state))
    monitor, reader = start()
    with pytest.raises(BadFile, match=sentence) as caught:
        load_state(monitor, reader, saved)
    assert str(caught.value).startswith(str(saved))
    assert not monitor.begun  # nothing of it was taken
    assert reader.counts.lines == 0


def test_as_many_ids_as_are_remembered_go_on_and_any_that_json_has(saved):
    state = json.loads(saved.read_text())
    ids = [-(2**63), 2**64 - 1, "x", 1.5, None, *range(REMEMBERED_IDS - 5)]
    state["reader"]["ids"] = ids
    saved.write_text(json.dumps(state))
    monitor, reader = start()
    assert load_state(monitor, reader, saved)
    assert list(reader.ids) == ids


@pytest.mark.parametrize("window", [[[1.0, 2.0], [3.0]], [[1.0], [2.0]], [[1.0, 2.0]], [1.0, 2.0]])
def test_every_step_of_a_window_has_a_number_for_each(tmp_path, window):
    path, reader = tmp_path / "state.json", Reader(Keys(), NAMES)
    scheme = periodic(3, Rawls(), status=Window(2))
    save_state(Monitor(scheme, NAMES), reader, path)
    state = json.loads(path.read_text())
    assert state["monitor"]["stream"][1] == [[0.0, 0.0], [0.0, 0.0]]
    state["monitor"]["stream"][1] = window
    path.write_text(json.dumps(state))
    with pytest.raises(BadFile, match=r"'monitor.stream.1' must be numbers in the shape \(2, 2\)"):
        load_state(Monitor(scheme, NAMES), reader, path)


@pytest.mark.parametrize("place", [("monitor", "late"), ("reader", "ids"), ("monitor", "stream")])
def test_what_is_missing_is_named(saved, place):
    state = json.loads(saved.read_text())
    del state[place[0]][place[1]]
    saved.write_text(json.dumps(state))
    with pytest.raises(BadFile, match=r"'monitor' must be a table of|it lacks '"):
        load_state(*start(), saved)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "cut short"),
        (b"\xff\xfe", "not a monitor state"),
        (b'{"format": 2', "cut short"),
        (b"[" * 10_000 + b"]" * 10_000, "nested deeper"),
        (b'{"format": 2, "format": 2}', "has the key 'format' twice"),
        (b"[]", "what it holds is a list"),
    ],
)
def test_what_is_no_state_is_refused(tmp_path, content, sentence):
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=sentence):
        load_state(*start(), path)


def test_a_state_has_at_most_256_megabytes(tmp_path):
    path = tmp_path / "state.json"
    path.touch()
    os.truncate(path, (1 << 28) + 1)  # of nothing: no room is taken, and none of it is read
    with pytest.raises(BadFile, match="has at most 256 MB"):
        load_state(*start(), path)


def test_a_pipe_and_a_device_in_its_place_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadFile, match="not a file but a pipe"):
        load_state(*start(), tmp_path / "pipe")
    with pytest.raises(BadFile, match="not a file but a device"):
        load_state(*start(), "/dev/zero")
    with pytest.raises(BadFile, match="is a folder"):
        load_state(*start(), tmp_path)


def test_the_worst_so_far_goes_on_from_before_the_first_assessment(tmp_path):
    """It is ∞ there, which JSON does not have."""
    path = tmp_path / "state.json"
    whole, reader = start()
    whole.take(reader.read(lines(range(8))))
    first, reader = start()
    first.take(reader.read(lines(range(2))))
    save_state(first, reader, path)
    second, reader = start()
    assert load_state(second, reader, path)
    second.take(reader.read(lines(range(2, 8))))
    assert second.summary() == whole.summary()
    assert second.summary()["score"] == 0.0


@pytest.mark.parametrize("how", [{}, {"every": "month"}, {"every": 2}])
def test_a_state_of_other_entitlements_is_refused_whatever_the_question(tmp_path, how):
    """What was received per unit of one size is nothing per unit of another."""
    path, one, other = tmp_path / "state.json", {"A": 1.0, "B": 3.0}, {"A": 5.0, "B": 1.0}
    made = [
        make_monitor(SchemeOptions(**how), names=NAMES, entitlement=sizes)
        for sizes in (one, one, other)
    ]
    made[0][0].push("2021-01-01", "A")
    save_state(*made[0], path)
    assert load_state(*made[1], path)
    with pytest.raises(BadFile, match="watched something else"):
        load_state(*made[2], path)
    snapshot = made[0][0].snapshot()
    made[1][0].resume(snapshot)
    with pytest.raises(BadParameter, match="watched something else"):
        made[2][0].resume(snapshot)
