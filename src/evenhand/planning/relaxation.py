"""What a restricted policy cannot afford, by an information relaxation.

Were everything seen, except that at one information set one action must be taken, the best score
is found by backward induction. If even that is below a score already reached, the action can be
left out of the search there: no policy that takes it is as good.
"""

from __future__ import annotations

import time as clock
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.planning.restricted import Restricted

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

BATCH = 64  # forced actions looked at side by side
ROUNDING = 1e-9  # an action is left out only if it falls short by more than this

Allowed = list[Any]  # by step number: the actions left at each information set, a Bool table


def rule_out(restricted: Restricted, reached: float, deadline: float) -> tuple[float, Allowed]:
    """An upper bound, and by step number the actions that may lead to a score above `reached`.

    Each action left out makes the relaxation tighter, so it goes on until none is, or until the
    deadline. Whatever was left out by then is left out rightly.
    """
    allowed = [restricted.candidates() for _ in restricted.layers]
    while True:
        values = _relaxed(restricted, allowed)
        left_out = 0
        for time in range(len(allowed)):
            if clock.monotonic() > deadline:
                break
            infos, actions = _hopeless(restricted, allowed, time, values, reached)
            allowed[time][infos, actions] = False
            left_out += len(infos)
        if not left_out:
            return restricted.table.expected(values[0][:, 0]), allowed


def _relaxed(restricted: Restricted, allowed: Allowed) -> list[Float[np.ndarray, "state 1"]]:
    """The values at each step number were everything seen, under the actions allowed."""
    values = [np.zeros((restricted.table.num_states, 1))]
    for time in reversed(range(len(allowed))):
        values.append(_step_back(restricted, allowed[time], time, values[-1]))
    return values[::-1]


def _hopeless(
    restricted: Restricted,
    allowed: Allowed,
    time: int,
    values: list[Float[np.ndarray, "state 1"]],
    reached: float,
) -> tuple[Int[np.ndarray, " choice"], Int[np.ndarray, " choice"]]:
    """The information sets of a layer and their actions that cannot lead to `reached`."""
    infos, actions = _open(restricted, allowed[time], time)
    best, begins = np.zeros(len(infos)), restricted.table.model.start_chance
    for begin in range(0, len(infos), BATCH):
        part = slice(begin, begin + BATCH)
        after = _forced(restricted, allowed[time], time, values, infos[part], actions[part])
        for earlier in reversed(range(time)):
            after = _step_back(restricted, allowed[earlier], earlier, after)
        best[part] = begins @ after[: len(begins)]
    hopeless = best < reached - ROUNDING
    return infos[hopeless], actions[hopeless]


def _open(
    restricted: Restricted, allowed: Bool[np.ndarray, "info action"], time: int
) -> tuple[Int[np.ndarray, " choice"], Int[np.ndarray, " choice"]]:
    """The information sets of a layer at which there is a choice, with their actions."""
    here = np.zeros(restricted.num_infos, dtype=bool)
    here[restricted.info[restricted.layers[time]]] = True
    infos, actions = np.nonzero(allowed & (here & (allowed.sum(axis=1) > 1))[:, None])
    return infos, actions


def _forced(
    restricted: Restricted,
    allowed: Bool[np.ndarray, "info action"],
    time: int,
    values: list[Float[np.ndarray, "state 1"]],
    infos: Int[np.ndarray, " choice"],
    actions: Int[np.ndarray, " choice"],
) -> Float[np.ndarray, "state choice"]:
    """The values of a layer if an information set has to take an action, one column for each."""
    states = restricted.layers[time]
    q = _effect_values(restricted, time, values[time + 1])
    best = _best(restricted, allowed, time, q)[:, :, 0]
    number = np.full(allowed.shape, -1)
    number[infos, actions] = np.arange(len(infos))
    column = number[restricted.info[states]]
    state, noise, action = np.nonzero(column >= 0)
    loss = best[state, noise] - q[restricted.effects[noise, action], state, 0]
    forced = np.repeat(values[time], len(infos), axis=1)
    cells = states[state], column[state, noise, action]
    np.subtract.at(forced, cells, restricted.chance[noise] * loss)
    return forced


def _step_back(
    restricted: Restricted,
    allowed: Bool[np.ndarray, "info action"],
    time: int,
    after: Float[np.ndarray, "state choice"],
) -> Float[np.ndarray, "state choice"]:
    here = np.zeros(after.shape)
    best = _best(restricted, allowed, time, _effect_values(restricted, time, after))
    here[restricted.layers[time]] = np.einsum("snc,n->sc", best, restricted.chance)
    return here


def _effect_values(
    restricted: Restricted, time: int, after: Float[np.ndarray, "state choice"]
) -> Float[np.ndarray, "effect state choice"]:
    columns = [restricted.effect_values(time, column) for column in after.T]
    return np.stack(columns, axis=-1)


def _best(
    restricted: Restricted,
    allowed: Bool[np.ndarray, "info action"],
    time: int,
    q: Float[np.ndarray, "effect state choice"],
) -> Float[np.ndarray, "state noise choice"]:
    """The value of the best action allowed, were the state known."""
    may = allowed[restricted.info[restricted.layers[time]]][..., None]
    by_noise = [
        np.where(may[:, noise], q[effects].swapaxes(0, 1), -np.inf).max(axis=1)
        for noise, effects in enumerate(restricted.effects)
    ]
    return np.stack(by_noise, axis=1)
