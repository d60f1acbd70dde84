"""A finite memory from any status that carries finitely many states over finitely many events."""

from __future__ import annotations

import numpy as np

from evenhand._util.checks import require_whole
from evenhand.errors import BadParameter
from evenhand.fairness.status import Status
from evenhand.memory.automata.alphabet import Events
from evenhand.memory.automata.automaton_memory import TableMemory
from evenhand.memory.automata.reach import MAX_STATES, reach, state_key


def table_memory(
    status: Status,
    events: Events,
    num_stakeholders: int,
    horizon: int | None = None,
    max_states: int = MAX_STATES,
) -> TableMemory:
    """Section 5.1: what a status carries from step to step, numbered, with μ as a table.

    With a horizon T it is everything reached within T steps, which is finite for any status: "in
    practice policies may not be run long enough for memory limitations to come into play".
    Without one, what is carried must close.

    >>> from evenhand.fairness.status import Modulo
    >>> table_memory(Modulo(12), Events.of_rewards([[0], [1]]), 1).size
    12
    """
    steps = events.require_steps()
    if horizon is not None:
        require_whole(horizon, "horizon", least=0)
    if events.num_stakeholders != num_stakeholders:
        raise BadParameter(
            f"the events have rewards for {events.num_stakeholders} stakeholders, but "
            f"num_stakeholders is {num_stakeholders}."
        )
    reached = reach(
        status.init(num_stakeholders),
        lambda state, event: status.update(state, steps[event]),
        len(events),
        what=f"the status ({status.describe()}, over {len(events)} events)",
        key=state_key,
        horizon=horizon,
        max_states=max_states,
    )
    return TableMemory(
        initial=0,
        table=reached.table,
        events=events,
        values=np.array([np.asarray(status.value(state)) for state in reached.states]),
        num_stakeholders=num_stakeholders,
        horizon=horizon,
    )
