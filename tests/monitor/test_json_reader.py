"""JSON lines to events: ids, kinds of time, and what is left out."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from evenhand.auditing.questions import PERIODS
from evenhand.errors import BadLog, MissingKey
from evenhand.monitor import json_reader
from evenhand.monitor.json_reader import Counts, Keys, Reader

WITH_ID = Keys(amount="amount", id="id")


def line(time=1, stakeholder="A", **others) -> bytes:
    return json.dumps({"time": time, "stakeholder": stakeholder, **others}).encode()


def of_id(name) -> bytes:
    return line(amount=1, id=name)


def test_the_oldest_id_is_forgotten_first(monkeypatch):
    """Two are remembered. That an id was seen again does not make it younger."""
    monkeypatch.setattr(json_reader, "REMEMBERED_IDS", 2)
    reader = Reader(WITH_ID, ("A",))
    reader.read([of_id("x"), of_id("y")])
    assert list(reader.ids) == ["x", "y"]
    reader.read([of_id("x")])
    assert reader.counts.repeated == 1
    reader.read([of_id("z")])
    assert list(reader.ids) == ["y", "z"]
    reader.read([of_id("y"), of_id("z")])
    assert reader.counts.repeated == 3
    reader.read([of_id("x")])  # forgotten, and so an event
    assert list(reader.ids) == ["z", "x"]
    assert (reader.counts.events, reader.counts.repeated) == (4, 3)


@pytest.mark.parametrize("cut", range(6))
def test_a_reader_goes_on_from_any_place(cut):
    lines = [of_id("x"), line(amount=None, id="e"), of_id("x"), b"?", of_id("y"), of_id("x")]
    whole, first, second = (Reader(WITH_ID, ("A",)) for _ in range(3))
    expected = whole.read(lines)
    before = first.read(lines[:cut])
    second.resume(json.loads(json.dumps(first.snapshot())))
    after = second.read(lines[cut:])
    assert len(before.at) + len(after.at) == len(expected.at) == 2
    told = ["line 4 was left out: it is not a JSON object."]
    counts = Counts(lines=6, events=2, empty=1, repeated=2, bad=1)
    assert whole.counts == replace(counts, first_bad=told)
    # What was said already is not said again.
    assert second.counts == replace(counts, first_bad=told if cut <= 3 else [])
    assert list(second.ids) == ["x", "y"]
    assert second.plain_numbers is (True if cut else whole.plain_numbers)


def test_a_snapshot_is_not_changed_by_what_comes_after():
    reader = Reader(WITH_ID, ("A",))
    reader.read([of_id("x"), b"?"])
    snapshot = json.dumps(reader.snapshot())
    kept = reader.snapshot()
    reader.read([of_id("y"), b"?"])
    assert json.loads(snapshot)["counts"]["lines"] == 2
    assert list(kept["ids"]) == ["x"]


def test_the_kind_of_time_is_remembered():
    first, second = Reader(Keys(), ("A",)), Reader(Keys(), ("A",))
    first.read([line("2021-01-01")])
    second.resume(first.snapshot())
    assert not second.read([line(3)]).plain_numbers
    assert second.counts.bad == 1


def test_events_are_what_the_lines_say():
    reader = Reader(Keys(amount="amount"), ("A", "B"))
    lines = [line(2, "B", amount=2.5), b" \n", b"", line(1, "A", amount=3)]
    batch = reader.read(lines)
    assert batch.at.tolist() == [2, 1]
    assert batch.who.tolist() == [1, 0]
    assert batch.amount.tolist() == [2.5, 3]
    assert batch.plain_numbers
    assert (reader.counts.lines, reader.counts.events, reader.counts.bad) == (4, 2, 0)
    times = ["1970-01-01", "1970-01-02", "1970-01-02", "1970-01-01"]
    dated = Reader(Keys(), ("A",)).read([line(time) for time in times])
    assert dated.at.tolist() == [0, 86_400e6, 86_400e6, 0]
    assert dated.amount.tolist() == [1, 1, 1, 1]
    assert not dated.plain_numbers


def test_no_text_is_no_time_also_before_any_other():
    reader = Reader(Keys(), ("A",))
    assert reader.read([line(""), line("2021-01-01"), line("")]).at.tolist() == [1_609_459_200e6]
    assert reader.counts.first_bad == [
        f"line {k} was left out: the time '' is not an ISO date or timestamp." for k in (1, 3)
    ]


@pytest.mark.parametrize("later", [[3, 4], ["2021-01-01", "2021-01-02"]], ids=["numbers", "dates"])
@pytest.mark.parametrize(
    "first",
    [line(bad) for bad in (None, True, [], {}, "", "soon", "nan", "0001-01-01T00:00+14:00")]
    + [b'{"time": NaN, "stakeholder": "A"}', b'{"time": 1e400, "stakeholder": "A"}'],
)
def test_a_bad_first_time_decides_nothing(first, later):
    """Whether times are dates or numbers is known with the first time that can be read."""
    reader, clean = Reader(Keys(), ("A",)), Reader(Keys(), ("A",))
    batch = reader.read([first, *map(line, later)])
    expected = clean.read([*map(line, later)])
    assert batch.at.tolist() == expected.at.tolist()
    assert np.isfinite(batch.at).all()
    assert batch.plain_numbers == expected.plain_numbers
    assert (reader.counts.events, reader.counts.bad) == (2, 1)


@pytest.mark.parametrize("name", [[1], {}])
def test_a_first_line_with_a_bad_id_decides_nothing_either(name):
    reader = Reader(WITH_ID, ("A",))
    batch = reader.read([of_id(name), line("2021-01-01", amount=1, id=1)])
    assert len(batch.at) == 1
    assert not batch.plain_numbers
    assert reader.counts.bad == 1


def test_a_leap_is_measured_from_the_latest_time():
    """Of 100,000 days at most: 65,377 to 2200, and 73,049 from there to 2400."""
    reader = Reader(Keys(), ("A",), period=PERIODS["day"])
    times = ["2021-01-01", "2200-01-01", "2400-01-01", "2021-01-02", "2500-01-01"]
    assert len(reader.read([line(time) for time in times]).at) == 5


def test_a_leap_is_refused_as_before_by_a_reader_that_goes_on():
    first, second = (Reader(Keys(), ("A",), period=PERIODS["day"]) for _ in range(2))
    first.read([line("2021-01-01")])
    second.resume(json.loads(json.dumps(first.snapshot())))
    assert len(second.read([line("9999-12-31"), line("2021-01-02")]).at) == 1
    assert second.counts.bad == 1


def test_a_number_may_be_the_name():
    reader = Reader(Keys(), ("7", "8"))
    assert reader.read([line(1, 8)]).who.tolist() == [1]


def test_no_more_than_ten_bad_lines_are_told():
    reader = Reader(Keys(), ("A",))
    reader.read([b"?"] * 12)
    assert reader.counts.bad == 12
    assert len(reader.counts.first_bad) == 10
    assert reader.counts.first_bad[-1].startswith("line 10 ")


@pytest.mark.parametrize("amount", [True, "3", [1], 1e400])
def test_an_amount_is_a_finite_number(amount):
    reader = Reader(Keys(amount="amount"), ("A",), strict=True)
    text = json.dumps({"time": 1, "stakeholder": "A", "amount": amount})
    with pytest.raises(BadLog, match="line 1 cannot be taken"):
        reader.read([text.encode()])
    assert np.isfinite(reader.read([line(amount=0)]).amount).all()


def refused(*lines: bytes, keys: Keys = WITH_ID) -> Reader:
    reader = Reader(keys, ("North", "South"))
    reader.read(list(lines))
    return reader


def test_where_no_line_has_a_key_the_key_is_wrong():
    without = [b'{"when": 1, "stakeholder": "North", "amount": 1, "id": 1}'] * 2
    with pytest.raises(MissingKey) as caught:
        refused(*without).refuse_what_never_fits()
    assert "'time'" in str(caught.value)
    assert "when" in str(caught.value)
    stranger = line(stakeholder="Nroth", amount=1, id=1)
    with pytest.raises(BadLog, match=r"about 'Nroth', and watched is 'North'"):
        refused(stranger, line(stakeholder="x", amount=1, id=2)).refuse_what_never_fits()


def test_twelve_of_those_who_are_watched_are_named():
    reader = Reader(Keys(), [f"P{k}" for k in range(14)])
    reader.read([line(stakeholder="Somebody else")])
    with pytest.raises(BadLog, match=r"watched is 'P0', .*'P10', 'P11'; check"):
        reader.refuse_what_never_fits()


NO_NAME = b'{"time": 1}'


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        ((), Counts()),
        ((line(stakeholder="North", amount=1, id=1),), Counts(lines=1, events=1)),
        ((NO_NAME, line(stakeholder="North", amount=1, id=1)), Counts(lines=2, events=1, bad=1)),
        ((NO_NAME, line(stakeholder="North", amount=None, id=1)), Counts(lines=2, empty=1, bad=1)),
    ],
)
def test_lines_that_may_fit_after_all_are_left_alone(lines, counts):
    """They are counted, each bad one with its reason, and nothing is refused."""
    reader = refused(*lines)
    reader.refuse_what_never_fits()
    assert len(reader.counts.first_bad) == counts.bad
    assert replace(reader.counts, first_bad=[]) == counts


@pytest.mark.parametrize("noise", [b"?", b"[1, 2]", b'"text"', b"7", b"null"])
def test_a_line_that_is_no_object_does_not_hide_a_wrong_key(noise):
    """One such line among many without the key must not make a summary of nothing of the error."""
    lacking = [b'{"when": 1, "stakeholder": "North", "amount": 1, "id": 1}'] * 3
    with pytest.raises(MissingKey, match="'time'"):
        refused(*lacking, noise).refuse_what_never_fits()
    stranger = line(stakeholder="Nroth", amount=1, id=1)
    with pytest.raises(BadLog, match=r"about 'Nroth', and watched is 'North'"):
        refused(noise, stranger).refuse_what_never_fits()


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ((b"?", b"?"), "it is not a JSON object"),
        ((line(stakeholder="North", amount="x", id=1),), "the amount 'x' is not a number"),
        # Two keys lack.
        (
            (b'{"stakeholder": "North"}', b'{"stakeholder": "North", "amount": 1}'),
            "'amount' is missing",
        ),
        ((NO_NAME, line(stakeholder="North", amount="x", id=1)), "'stakeholder' is missing"),
    ],
)
def test_where_no_line_could_be_taken_that_is_an_error(lines, why):
    """A summary of nothing would look as if all were well."""
    with pytest.raises(BadLog) as caught:
        refused(*lines).refuse_what_never_fits()
    assert str(caught.value) == (
        f"no line that was read could be taken: line 1 was left out: {why}. Each must be a JSON "
        "object with 'stakeholder', 'time', 'amount' and 'id'."
    )


def test_bad_lines_of_a_run_before_are_not_held_against_an_empty_one():
    before, after = refused(b"?"), refused()
    after.resume(json.loads(json.dumps(before.snapshot())))
    after.refuse_what_never_fits()
    assert after.counts.bad == 1


def test_which_argument_names_a_key():
    assert Keys(amount="much").argument("much") == "amount"
    assert Keys(time="when").argument("when") == "time"
