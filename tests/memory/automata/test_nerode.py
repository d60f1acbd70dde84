"""What histories up to a length say for and against a finite memory, by hand and by all strings."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.memory.automata import Events, nerode
from evenhand.memory.automata.nerode import examine

EVENTS = Events.of_rewards([[0.0], [1.0]])


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
    evidence = examine(VALUES[name], EVENTS, max_length)
    assert evidence.max_length == max_length
    assert evidence.distinct_values == distinct
    assert evidence.classes == classes
    assert not evidence.against
    assert evidence.memory.size == classes[-1]
    for length in range(max_length + 1):
        for labels in itertools.product(EVENTS.labels, repeat=length):
            steps = [EVENTS.steps[EVENTS.position(label)] for label in labels]
            state = evidence.memory.after(labels)
            assert evidence.memory.values[state].tolist() == VALUES[name](steps)


def test_a_count_has_a_class_more_at_every_length():
    evidence = examine(lambda steps: [count(steps)], EVENTS, 4)
    assert evidence.distinct_values == (1, 2, 3, 4, 5)
    assert evidence.classes == (1, 2, 3, 4)
    assert evidence.against


def test_how_many_histories_may_be_asked_about(monkeypatch):
    monkeypatch.setattr(nerode, "MAX_TRACES", 15)  # 1 + 2 + 4 + 8
    assert examine(VALUES["parity"], EVENTS, 3).max_length == 3
    assert examine(VALUES["parity"], EVENTS, 1).distinct_values == (1, 2)
    for length in (0, 4):
        with pytest.raises(BadParameter, match=f"max_length is {length}"):
            examine(VALUES["parity"], EVENTS, length)
    monkeypatch.setattr(nerode, "MAX_TRACES", 14)
    with pytest.raises(BadParameter, match="no more than 14 histories"):
        examine(VALUES["parity"], EVENTS, 3)


def test_like_histories_that_part_later_leave_no_memory():
    """Alike for one more event, and not for two: no number of classes makes that an automaton."""
    rng = np.random.default_rng(3)
    drawn = {
        string: int(rng.integers(2))
        for length in range(6)
        for string in itertools.product((0, 1), repeat=length)
    }
    evidence = examine(lambda steps: [drawn[tuple(int(s.rewards[0]) for s in steps)]], EVENTS, 5)
    assert evidence.against
