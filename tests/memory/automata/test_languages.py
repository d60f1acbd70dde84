"""Values and the languages they belong to: copies of what is given, and at least one of each."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.errors import UnequalLengths
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.languages import ValueRegular

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
