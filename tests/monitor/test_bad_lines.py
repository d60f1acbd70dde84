"""Lines of JSON: whatever a line holds, it is an event or a bad line that is named and counted."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.errors import BadLog, MissingKey
from evenhand.monitor.json_reader import GROUP, Keys, Reader

KEYS = Keys(amount="amount", id="id")
GOOD = b'{"time": 1, "stakeholder": "A", "amount": 2, "id": %d}'


def read(*lines: bytes) -> Reader:
    """A reader that has taken one good line, and then these."""
    reader = Reader(KEYS, ("A", "B"))
    reader.read([GOOD % 0, *lines])
    return reader


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"[" * 10_000 + b"]" * 10_000, "it is not a JSON object"),
        (b'{"time": 1e400, "stakeholder": "A", "amount": 1, "id": 1}', "it is not a JSON object"),
        (b'{"time": 1, "stakeholder": "A", "amount": NaN, "id": 1}', "it is not a JSON object"),
        (b'{"time": 1, "stakeholder": "\\ud800", "amount": 1, "id": 1}', "it is not a JSON object"),
        (b'{"time": 1, "stakeholder": "\xff", "amount": 1, "id": 1}', "it is not a JSON object"),
        (b'{"time": 1, "stakeholder": "A", "amount"', "it is not a JSON object"),
        (b"\x00", "it is not a JSON object"),
        (b"null", "it is not an object with a stakeholder and a time"),
        (b'{"time": 2, "time": 1, "stakeholder": "A", "amount": 1, "id": 1}', "'time' twice"),
        (b'{"time": 1, "stakeholder": "A", "amount": 1, "id": 1, "amount": 1}', "'amount' twice"),
        (b'{"time": 1, "time": 1, "stakeholder', "it is not a JSON object"),
        (b'{"time": 1, "stakeholder": ["A"], "amount": 1, "id": 1}', "'stakeholder' is ['A']"),
        (b'{"time": 1, "stakeholder": "A", "amount": 1, "id": {"a": 1}}', "'id' is {'a': 1}"),
        (b'{"time": null, "stakeholder": "A", "amount": 1, "id": 1}', "time None is not a date"),
        (b'{"time": 1, "stakeholder": "A", "amount": [1], "id": 1}', "amount [1] is not a number"),
    ],
)
def test_a_bad_line_is_named(line, reason):
    reader = read(line)
    assert (reader.counts.events, reader.counts.bad) == (1, 1)
    (sentence,) = reader.counts.first_bad
    assert sentence.startswith("line 2 was left out: ")
    assert reason in sentence


@pytest.mark.parametrize("time", ["0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", "x" * 10**6])
def test_a_time_beyond_the_calendar_is_a_bad_line(time):
    reader = Reader(Keys(), ("A",))
    event = {"stakeholder": "A"}
    reader.read([json.dumps({**event, "time": t}).encode() for t in ("2021-01-01", time)])
    (sentence,) = reader.counts.first_bad
    assert "is not an ISO date or timestamp" in sentence
    assert len(sentence) < 150


def test_what_a_sentence_quotes_is_short():
    long = "x" * 10**6
    reader = Reader(Keys(), ("A",))
    reader.read([json.dumps({"time": 1, "stakeholder": long}).encode()])
    assert len(reader.counts.first_bad[0]) < 150
    with pytest.raises(BadLog, match="about anybody who is watched") as caught:
        reader.refuse_what_never_fits()
    assert len(str(caught.value)) < 400


def test_a_key_twice_changes_nothing_else():
    """Neither the lines around it nor the ids that are remembered."""
    twice = b'{"time": 1, "stakeholder": "A", "amount": 1, "id": 7, "id": 7}'
    inside = b'{"time": 1, "stakeholder": "A", "amount": 1, "id": 8, "note": {"id": 1, "time": 2}}'
    good = [GOOD % k for k in range(1, 2 * GROUP)]
    reader = read(twice, inside, *good[6:])
    assert (reader.counts.bad, reader.counts.repeated) == (1, 1)  # 8 is in `good` too
    assert reader.counts.events == 1 + 1 + len(good[6:]) - 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
lines = st.one_of(
    st.binary(max_size=60),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.dictionaries(
        st.sampled_from(["time", "stakeholder", "amount", "id"]),
        st.sampled_from([1, "A", "2021-01-01", 1e308, -5, 2**63]) | json_values,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(st.lists(lines, max_size=8))
def test_any_lines_are_taken_or_counted(some):
    reader = Reader(KEYS, ("A", "B"))
    batch = reader.read(some)
    counts = reader.counts
    blank = sum(not line or line.isspace() for line in some)
    assert counts.lines == len(some)
    assert counts.events == len(batch.at)
    assert counts.events + counts.empty + counts.repeated + counts.bad + blank == len(some)
    with contextlib.suppress(BadLog, MissingKey):
        reader.refuse_what_never_fits()
