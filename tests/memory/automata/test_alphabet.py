"""Labels and the steps that have them: what is taken, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import BadParameter, UnknownEvent
from evenhand.fairness.trace import Step
from evenhand.memory.automata.alphabet import Events


def by_action(*labels, **more):
    return Events(labels=labels, label=lambda step: step.action, **more)


def at(action):
    return Step(action, np.zeros(1))


def test_lists_are_kept_as_tuples():
    labels, steps = ["a", "b"], [at("a"), at("b")]
    events = Events(labels=labels, label=lambda step: step.action, steps=steps)
    labels.append("c")
    assert events.labels == ("a", "b")
    assert events.steps == tuple(steps)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("a", ""), "the label '' is not a word"),
        (("a", 1), "the label 1 is not a word"),
        (("b", "a", "a"), "the label 'a' is given twice"),
    ],
)
def test_labels_are_words_each_given_once(labels, message):
    with pytest.raises(BadParameter, match=message):
        by_action(*labels)


def test_many_steps_are_labelled_at_once():
    events = by_action("a", "b", "c")
    for indices in ([0, 2, 1], [0, 0], [2], []):
        found = events.index(at(np.array(indices, dtype=int)))
        assert found.tolist() == indices
    for indices in ([-1, 1], [0, 3], [3, 4], [-2, -1]):
        with pytest.raises(UnknownEvent, match="returned index"):
            events.index(at(np.array(indices)))


def test_a_name_that_is_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(UnknownEvent, match="there is no event 'x': there are first, second"):
        by_action("first", "second").position("x")


def test_rewards_are_told_apart_by_all_their_numbers():
    events = Events.of_rewards([[1, 0], [1, 2], [0, 2]], labels=("x", "y", "z"))
    assert events.labels == ("x", "y", "z")
    assert [int(events.index(step)) for step in events.require_steps()] == [0, 1, 2]
    assert events.num_stakeholders == 2
