"""What can be reached from a start by events, breadth first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.errors import DoesNotClose

if TYPE_CHECKING:
    from jaxtyping import Int

MAX_STATES = 100_000  # by default: about a second's work, and a table of a few megabytes


@dataclass(frozen=True, eq=False)
class Reached:
    """States in the order of discovery (0 is the start), and where each event leads.

    A state first reached at the horizon has no successors; there each event leads to itself.
    """

    states: tuple[Any, ...]
    table: Int[np.ndarray, "state event"]
    came_from: tuple[tuple[int, int], ...]  # the state and the event that first led to each

    def string_to(self, state: int) -> tuple[int, ...]:
        """A shortest string of events that leads to a state."""
        events = []
        while state != 0:
            state, event = self.came_from[state]
            events.append(event)
        return tuple(reversed(events))


def reach(
    start: Any,
    step: Callable[[Any, int], Any],
    num_events: int,
    *,
    what: str,
    key: Callable[[Any], Hashable],
    horizon: int | None = None,
    max_states: int = MAX_STATES,
) -> Reached:
    """Everything reached within `horizon` steps (or ever); states with equal keys are one."""
    states, came_from, depth = [start], [(-1, -1)], [0]
    number = {key(start): 0}
    rows = []
    for here, state in enumerate(states):  # grows as it is gone through
        if depth[here] == horizon:
            rows.append([here] * num_events)
            continue
        row = []
        for event in range(num_events):
            after = step(state, event)
            found = number.setdefault(key(after), len(states))
            if found == len(states):
                if found >= max_states:
                    raise _does_not_close(what, max_states, depth[here] + 1)
                states.append(after)
                came_from.append((here, event))
                depth.append(depth[here] + 1)
            row.append(found)
        rows.append(row)
    return Reached(tuple(states), np.array(rows, dtype=np.int32), tuple(came_from))


def _does_not_close(what: str, size: int, depth: int) -> DoesNotClose:
    return DoesNotClose(
        f"{what} does not close: it has more than {size} states, some of them reached only after "
        f"{depth} steps. Give a (shorter) horizon, cap the count or take it modulo a number, or "
        "raise max_states.",
        size=size,
    )


def state_key(state: Any) -> Hashable:
    """A key for what a fold carries: equal for equal arrays in equal tuples."""
    if isinstance(state, tuple | list):
        return tuple(state_key(part) for part in state)
    if isinstance(state, Mapping):
        return tuple((name, state_key(state[name])) for name in sorted(state))
    array = np.asarray(state)
    if array.dtype.kind not in "biuf":
        return state
    # One type of number, whatever an update turned them into; + 0.0 makes one zero of 0.0 and −0.0.
    return array.shape, (array.astype(np.float64) + 0.0).tobytes()
