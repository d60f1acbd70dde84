"""What a status carries, as far as a horizon goes."""

from __future__ import annotations

import pytest

from evenhand.errors import BadParameter
from evenhand.fairness.status import Returns
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.closure import table_memory
from evenhand.memory.automata.regularity import value_regular

EVENTS = Events.of_rewards([[0], [1]])


def test_within_a_horizon_a_count_goes_so_far():
    for horizon in (0, 1, 3):
        memory = table_memory(Returns(), EVENTS, 1, horizon=horizon)
        assert (memory.size, memory.horizon) == (horizon + 1, horizon)
        assert memory.values.ravel().tolist() == list(range(horizon + 1))
    with pytest.raises(BadParameter, match="horizon is -1"):
        table_memory(Returns(), EVENTS, 1, horizon=-1)
    with pytest.raises(BadParameter, match="for 1 stakeholders, but num_stakeholders is 2"):
        table_memory(Returns(), EVENTS, 2, horizon=1)


def test_a_function_is_examined_on_six_events_unless_told_otherwise():
    total = lambda trace: [trace.rewards.sum()]  # noqa: E731
    found = value_regular(total, events=EVENTS)
    assert found.evidence.max_length == 6
    assert found.evidence.distinct_values == (1, 2, 3, 4, 5, 6, 7)
