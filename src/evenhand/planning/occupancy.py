"""The proof behind a restricted optimum: a mixed-integer program over how often each thing is done.

Its flows y_t(x, ξ, a) are the probabilities of being in the joint state x at step t, seeing the
noise ξ, and doing a. What is seen holds them together: a binary d_t(h, a) for each information set
h says what is done there, and y_t(x, ξ, a) may be positive only where d_t(h, a) is 1. An
information set of a single situation needs no binary, since there a flow is a policy already.

Every column is a share of the most that it can be: what is rare would otherwise have coefficients
below those that the solver takes for zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from evenhand._util.quiet_solver import nothing_on_stdout
from evenhand.planning.relaxation import Allowed, rule_out
from evenhand.planning.restricted import Decisions, Restricted

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

MAX_FLOWS = 200_000  # a larger program is not worth starting
SCALE = 100.0  # the solver stops within 1e-6 of the best, which is then 1e-8 of a score


def prove(
    restricted: Restricted, reached: float, decisions: Decisions, time_limit: float
) -> tuple[float, Decisions]:
    """An upper bound on every restricted policy, and the best policy met on the way.

    Given a policy and the score it reaches. The bound is that of the solver; where the program is
    too large, or there was no time, that of an information relaxation, or infinite.
    """
    started = monotonic()
    if time_limit <= 0:
        return np.inf, decisions
    relaxed, allowed = rule_out(restricted, reached, started + time_limit / 4)
    flows = sum(
        int(may[restricted.info[layer]].sum())
        for may, layer in zip(allowed, restricted.layers, strict=True)
    )
    remaining = time_limit - (monotonic() - started)
    # Policies left out score less than what is reached, so the relaxation may fall below it.
    relaxed = max(reached, relaxed)
    if flows > MAX_FLOWS or remaining <= 0:
        return relaxed, decisions
    program = _program(restricted, allowed)
    whole = np.concatenate(program.whole)
    with nothing_on_stdout():
        found = milp(
            SCALE * np.concatenate(program.cost),
            integrality=whole,
            bounds=Bounds(0.0, 1.0),
            constraints=program.constraint(),
            options={"time_limit": remaining, "mip_rel_gap": 0.0},
        )
    if found.x is not None:
        decisions = _decisions(restricted, program, found.x, decisions)
    # A linear program has no bound but its solution, and that only once it is solved.
    bound = found.mip_dual_bound if whole.any() else found.fun if found.status == 0 else None
    if bound is None or not np.isfinite(bound):
        return relaxed, decisions
    return max(reached, min(relaxed, -bound / SCALE)), decisions


class _Choices(NamedTuple):
    """Which columns of a layer decide what is done at which information set."""

    info: Int[np.ndarray, " choice"]
    action: Int[np.ndarray, " choice"]
    column: Int[np.ndarray, " choice"]


class _Flows(NamedTuple):
    """The flows of a layer: from which of its states, under which noise, by which action."""

    state: Int[np.ndarray, " flow"]
    noise: Int[np.ndarray, " flow"]
    action: Int[np.ndarray, " flow"]
    effect: Int[np.ndarray, " flow"]
    info: Int[np.ndarray, " flow"]
    most: Float[np.ndarray, " flow"]  # the probability that a column of 1 stands for
    column: Int[np.ndarray, " flow"]


@dataclass
class _Program:
    """Columns and rows as they are added."""

    cost: list[Float[np.ndarray, " column"]] = field(default_factory=list)
    whole: list[Int[np.ndarray, " column"]] = field(default_factory=list)
    choices: list[_Choices] = field(default_factory=list)  # by step number
    cells: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    limits: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    num_rows: int = 0
    num_columns: int = 0

    def add_columns(self, count: int, cost: Any = 0.0, whole: int = 0) -> Any:
        self.cost.append(np.broadcast_to(np.asarray(cost, dtype=np.float64), count))
        self.whole.append(np.full(count, whole))
        self.num_columns += count
        return np.arange(self.num_columns - count, self.num_columns)

    def add_rows(self, count: int, low: float, high: float, *cells: tuple[Any, Any, Any]) -> None:
        """Rows low ≤ Σ cell · column ≤ high, from triples (row, column, cell)."""
        for row, column, cell in cells:
            self.cells.append((row + self.num_rows, column, np.broadcast_to(cell, row.shape)))
        self.limits.append((np.full(count, low), np.full(count, high)))
        self.num_rows += count

    def constraint(self) -> LinearConstraint:
        row, column, cell = (np.concatenate(part) for part in zip(*self.cells, strict=True))
        low, high = (np.concatenate(part) for part in zip(*self.limits, strict=True))
        shape = (self.num_rows, self.num_columns)
        return LinearConstraint(coo_array((cell, (row, column)), shape=shape).tocsr(), low, high)


def _program(restricted: Restricted, allowed: Allowed) -> _Program:
    program = _Program()
    most = restricted.table.model.start_chance
    here = program.add_columns(len(most))
    program.add_rows(len(most), 1.0, 1.0, (np.arange(len(most)), here, 1.0))
    for step, may in enumerate(allowed):
        flows = _add_flows(program, restricted, may, step, here, most)
        _add_choices(program, restricted, may, step, flows, most)
        if step + 1 < len(allowed):
            here, most = _add_following(program, restricted, step, flows)
    return program


def _add_flows(
    program: _Program,
    restricted: Restricted,
    may: Bool[np.ndarray, "info action"],
    step: int,
    here: Int[np.ndarray, " state"],
    most: Float[np.ndarray, " state"],
) -> _Flows:
    """What leaves each state under each noise is what came to it, times the noise's chance.

    `here` are the columns of the states, and `most` bounds the probability of each.
    """
    table, states, chance = restricted.table, restricted.layers[step], restricted.chance
    info = restricted.info[states]
    state, noise, action = np.nonzero(may[info])
    effect = restricted.effects[noise, action]
    last = step == len(restricted.layers) - 1
    pay = (table.last_pay if last else table.pay)[effect, states[state]]
    probability = chance[noise] * most[state]
    column = program.add_columns(len(state), -(table.model.discount**step) * probability * pay)
    out = (state * len(chance) + noise, column, 1.0)
    into = (np.arange(info.size), np.repeat(here, len(chance)), -1.0)
    program.add_rows(info.size, 0.0, 0.0, out, into)
    return _Flows(state, noise, action, effect, info[state, noise], probability, column)


def _add_choices(
    program: _Program,
    restricted: Restricted,
    may: Bool[np.ndarray, "info action"],
    step: int,
    flows: _Flows,
    most: Float[np.ndarray, " state"],
) -> None:
    """Situations that look alike get one action."""
    reachable = restricted.layers[step][most > 0]
    situations = np.bincount(restricted.info[reachable].ravel(), minlength=restricted.num_infos)
    shared = (situations > 1) & (may.sum(axis=1) > 1)
    infos = np.flatnonzero(shared)
    row, action = np.nonzero(may[infos])
    binary = program.add_columns(len(row), whole=1)
    program.add_rows(len(infos), 1.0, 1.0, (row, binary, 1.0))
    column = np.zeros(may.shape, dtype=np.int64)
    column[infos[row], action] = binary
    held = np.flatnonzero(shared[flows.info])
    decides = column[flows.info[held], flows.action[held]]
    rows = np.arange(len(held))
    program.add_rows(
        len(held), -np.inf, 0.0, (rows, flows.column[held], 1.0), (rows, decides, -1.0)
    )
    free = ~shared[flows.info]
    program.choices.append(
        _Choices(
            np.concatenate((infos[row], flows.info[free])),
            np.concatenate((action, flows.action[free])),
            np.concatenate((binary, flows.column[free])),
        )
    )


def _add_following(
    program: _Program, restricted: Restricted, step: int, flows: _Flows
) -> tuple[Int[np.ndarray, " state"], Float[np.ndarray, " state"]]:
    """The columns of the next layer's states, and a bound on the probability of each."""
    table, states = restricted.table, restricted.layers[step]
    probability = table.probability[flows.effect, :, states[flows.state]]
    flow, outcome = np.nonzero(probability > 0)
    following = table.following[flows.effect, :, states[flows.state]][flow, outcome]
    target = np.searchsorted(restricted.layers[step + 1], following)
    size = len(restricted.layers[step + 1])
    # Outcomes that lead to the same state are added up.
    shape = (len(flows.state), size)
    leads = coo_array((probability[flow, outcome], (flow, target)), shape=shape).tocsr().tocoo()
    flow, target = leads.row.astype(np.int64), leads.col.astype(np.int64)
    sent = leads.data * flows.most[flow]
    # Under each noise one action is taken, so a state sends on no more than its best one does.
    pair = flows.state[flow] * len(restricted.chance) + flows.noise[flow]
    keys, inverse = np.unique(pair * size + target, return_inverse=True)
    best = np.zeros(len(keys))
    np.maximum.at(best, inverse, sent)
    most = np.bincount(keys % size, best, size)
    there = program.add_columns(size)
    share = sent / np.where(most > 0, most, 1.0)[target]
    program.add_rows(
        size, 0.0, 0.0, (target, flows.column[flow], share), (np.arange(size), there, -1.0)
    )
    return there, most


def _decisions(
    restricted: Restricted,
    program: _Program,
    solution: Float[np.ndarray, " column"],
    otherwise: Decisions,
) -> Decisions:
    """At each information set the action with the largest column; where all are 0, as given."""
    decisions = []
    for (info, action, column), given in zip(program.choices, otherwise, strict=True):
        weight = np.zeros((restricted.num_infos, restricted.effects.shape[1]))
        np.maximum.at(weight, (info, action), solution[column])
        decisions.append(np.where(weight.max(axis=1) > 0, weight.argmax(axis=1), given))
    return decisions
