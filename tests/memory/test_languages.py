"""Tests of memory.languages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand.errors import BadParameter, UnequalLengths
from evenhand.memory import languages
from evenhand.memory.automata import Events
from evenhand.memory.languages import ValueRegular, examine

# Values and the languages they belong to: copies of what is given, and at least one of each.

EVENTS = Events(labels=("a", "b"), label=lambda step: step.action)


def test_values_are_copied_and_languages_kept_as_a_tuple():
    values, languages = np.array([[0.0, 0.0], [1.0, 1.0]]), ["()", ".+"]
    made = ValueRegular(values=values, languages=languages, events=EVENTS)
    values[0] = 7.0
    assert made.values.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert made.languages == ("()", ".+")
    assert "_product" not in repr(made)


@pytest.mark.parametrize("shape", [(0, 1), (1, 0), (1, 1, 1)])
def test_there_is_a_value_and_a_stakeholder(shape):
    with pytest.raises(UnequalLengths, match="with at least one of each"):
        ValueRegular(values=np.zeros(shape), languages=[".*"] * shape[0], events=EVENTS)


# What histories up to a length say for and against a finite memory, by hand and by all strings.

EVENTS_NERODE = Events.of_rewards([[0.0], [1.0]])


def count(steps) -> int:
    return int(sum(step.rewards[0] for step in steps))


VALUES = {
    "parity": lambda steps: [count(steps) % 2],
    "last": lambda steps: [steps[-1].rewards[0] if steps else -1.0],
    "at most two": lambda steps: [min(count(steps), 2)],
}


@pytest.mark.parametrize(
    ("name", "max_length", "distinct", "classes"),
    [
        ("parity", 4, (1, 2, 2, 2, 2), (1, 2, 2, 2)),
        ("parity", 5, (1, 2, 2, 2, 2, 2), (1, 2, 2, 2)),
        ("last", 4, (1, 3, 3, 3, 3), (1, 3, 3, 3)),
        ("at most two", 5, (1, 2, 3, 3, 3, 3), (1, 2, 3, 3)),
    ],
)
def test_the_memory_found_gives_every_value(name, max_length, distinct, classes):
    evidence = examine(VALUES[name], EVENTS_NERODE, max_length)
    assert evidence.max_length == max_length
    assert evidence.distinct_values == distinct
    assert evidence.classes == classes
    assert not evidence.against
    assert evidence.memory.size == classes[-1]
    for length in range(max_length + 1):
        for labels in itertools.product(EVENTS_NERODE.labels, repeat=length):
            steps = [EVENTS_NERODE.steps[EVENTS_NERODE.position(label)] for label in labels]
            state = evidence.memory.after(labels)
            assert evidence.memory.values[state].tolist() == VALUES[name](steps)


def test_a_count_has_a_class_more_at_every_length():
    evidence = examine(lambda steps: [count(steps)], EVENTS_NERODE, 4)
    assert evidence.distinct_values == (1, 2, 3, 4, 5)
    assert evidence.classes == (1, 2, 3, 4)
    assert evidence.against


def test_how_many_histories_may_be_asked_about(monkeypatch):
    monkeypatch.setattr(languages, "MAX_TRACES", 15)  # 1 + 2 + 4 + 8
    assert examine(VALUES["parity"], EVENTS_NERODE, 3).max_length == 3
    assert examine(VALUES["parity"], EVENTS_NERODE, 1).distinct_values == (1, 2)
    for length in (0, 4):
        with pytest.raises(BadParameter, match=f"max_length is {length}"):
            examine(VALUES["parity"], EVENTS_NERODE, length)
    monkeypatch.setattr(languages, "MAX_TRACES", 14)
    with pytest.raises(BadParameter, match="no more than 14 histories"):
        examine(VALUES["parity"], EVENTS_NERODE, 3)


def test_like_histories_that_part_later_leave_no_memory():
    """Alike for one more event, and not for two: no number of classes makes that an automaton."""
    rng = np.random.default_rng(3)
    drawn = {
        string: int(rng.integers(2))
        for length in range(6)
        for string in itertools.product((0, 1), repeat=length)
    }
    evidence = examine(
        lambda steps: [drawn[tuple(int(s.rewards[0]) for s in steps)]], EVENTS_NERODE, 5
    )
    assert evidence.against
