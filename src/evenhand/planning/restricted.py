"""The best policy that sees no more than a memory: found, and bounded by linear programs."""

from __future__ import annotations

import time as clock
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from evenhand._util.files import nothing_on_stdout
from evenhand.envs import State
from evenhand.fairness.trace import Override, Step
from evenhand.planning.model import Model, SchemeAndMemory
from evenhand.planning.planner import backward, effect_values
from evenhand.planning.table import StateTable, tabulate
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


# Section 5.1 turned round: the best score of policies that see only π_t(seen state, seen memory).
#
# The world and the scheme's state go on as they are, but the policy cannot distinguish
# situations that look alike: they form an information set, and get one action. Time is known. A
# deterministic policy is as good as any: no information set is met twice in an episode, so the
# expected score is linear in what is done at each of them while the others are held, and a linear
# function on a simplex is greatest at a corner.

DECIMALS = 9  # what is seen alike to this many decimals is seen alike
STILL = 1e-12  # a change of an action that gains no more than this is not made

Decisions = list[Any]  # by step number: the action at each information set, Int[" info"]


@dataclass(frozen=True, eq=False)
class Restricted:
    """A problem in which the policy sees (seen state, memory), and the scheme state is hidden.

    What a `Problem` adds to the seen memory by itself is seen here too: the filter's counter, and
    the running score where it is remembered.
    """

    table: StateTable
    layers: list[Int[np.ndarray, " state"]]  # the states reachable at each decision
    chance: Float[np.ndarray, " noise"]
    effects: Int[np.ndarray, "noise action"]
    info: Int[np.ndarray, "state noise"]  # the number of what is seen
    plain: Int[np.ndarray, " info"]  # the number of what is seen of it without the memory
    memory_size: int  # how many values the memory has at the decision where it has most

    @property
    def num_infos(self) -> int:
        return len(self.plain)

    def candidates(self) -> Bool[np.ndarray, "info action"]:
        """One action of each kind: those that do the same whatever the noise are one choice."""
        infos, actions = self.num_infos, self.effects.shape[1]
        first = np.ones((infos, actions), dtype=bool)
        pairs = np.unique(
            np.stack((self.info.ravel(), np.tile(np.arange(len(self.chance)), len(self.info))), 1),
            axis=0,
        )
        for a in range(actions):
            for b in range(a):
                differ = self.effects[pairs[:, 1], a] != self.effects[pairs[:, 1], b]
                first[:, a] &= np.bincount(pairs[:, 0], differ, infos) > 0
        return first

    def rules(self, decisions: Decisions) -> list[dict[str, Any]]:
        """A policy in plain sight: what it does at each information set that it can come to."""
        model, listed = self.table.model, []
        _, (_, memory) = model.from_rows(self.table.rows, 0)
        possible = np.flatnonzero(model.noise[1] > 0)
        for time, reached in enumerate(self.reach(decisions)):
            states = self.layers[time][reached > 0]
            infos, first = np.unique(self.info[states], return_index=True)
            for info, place in zip(infos, first, strict=True):
                state, noise = divmod(int(place), len(self.chance))
                listed.append(
                    {
                        "time": time + 1,
                        "noise": _entry(model.noise[0], possible[noise]),
                        "memory": _entry(memory, states[state]),
                        "action": int(decisions[time][info]),
                    }
                )
        return listed

    def effect_values(
        self, time: int, after: Float[np.ndarray, " state"]
    ) -> Float[np.ndarray, "effect state"]:
        """Q of each effect in the states of a layer."""
        last = time == len(self.layers) - 1
        return effect_values(self.table, after, self.layers[time], last)

    def followed(
        self, decision: Int[np.ndarray, " info"], time: int
    ) -> Int[np.ndarray, "state noise"]:
        """The effect that a decision has in each state of a layer, under each noise."""
        chosen = decision[self.info[self.layers[time]]]
        return self.effects[np.arange(len(self.chance)), chosen]

    def value(self, decisions: Decisions) -> float:
        """The exact score of a restricted policy."""
        after = np.zeros(self.table.num_states)
        for time in reversed(range(len(self.layers))):
            after = self.step_back(decisions[time], time, self.effect_values(time, after))
        return self.table.expected(after)

    def step_back(
        self, decision: Int[np.ndarray, " info"], time: int, q: Float[np.ndarray, "effect state"]
    ) -> Float[np.ndarray, " state"]:
        """The values of a layer when a decision is followed there."""
        here, states = np.zeros(self.table.num_states), self.layers[time]
        followed = self.followed(decision, time)
        here[states] = q[followed, np.arange(len(states))[:, None]] @ self.chance
        return here

    def reach(self, decisions: Decisions) -> list[Float[np.ndarray, " state"]]:
        """The probability of each state of each layer under a restricted policy."""
        reached = [self.table.model.start_chance]
        for time, states in enumerate(self.layers[:-1]):
            followed = self.followed(decisions[time], time)
            weight = reached[-1][:, None] * self.chance
            there = np.zeros(self.table.num_states)
            for outcome in range(self.table.following.shape[1]):
                chance = self.table.probability[followed, outcome, states[:, None]]
                np.add.at(
                    there, self.table.following[followed, outcome, states[:, None]], weight * chance
                )
            reached.append(there[self.layers[time + 1]])
        return reached

    def action_scores(
        self, time: int, reached: Float[np.ndarray, " state"], q: Float[np.ndarray, "effect state"]
    ) -> Float[np.ndarray, "info action"]:
        """What each action at each information set adds to the score, weighed by reach."""
        info = self.info[self.layers[time]].ravel()
        weight = reached[:, None] * self.chance
        return np.stack(
            [
                np.bincount(info, (weight * q[effect].T).ravel(), self.num_infos)
                for effect in self.effects.T
            ],
            axis=1,
        )


def restrict(problem: Problem) -> Restricted:
    """The problem as its memory lets it be seen: joint states (world, scheme state, memory)."""
    table = _joint_table(problem)
    model = table.model
    possible = np.flatnonzero(model.noise[1] > 0)
    effects, horizon = model.effects[possible], problem.environment.horizon
    layers = _layers(table, np.unique(effects), horizon)
    world, (scheme_state, memory) = model.from_rows(table.rows, 0)
    noises = jax.tree.map(lambda leaf: np.asarray(leaf)[possible], model.noise[0])
    look = jax.vmap(jax.vmap(_observe(problem), in_axes=(None, 0)), in_axes=(0, None))
    with jax.enable_x64(True):
        seen = np.asarray(jax.device_get(look(world, noises)), dtype=np.float64)
    counters = _columns((scheme_state.filter, scheme_state.fold), len(table.rows))
    remembered = _numbers(_columns(memory, len(table.rows)))
    state_of = np.repeat(np.arange(len(table.rows)), len(possible))
    plain = _numbers(np.column_stack((seen.reshape(len(state_of), -1), counters[state_of])))
    info = _numbers(np.column_stack((plain, remembered[state_of])))
    plain_of = np.zeros(info.max() + 1, dtype=np.int64)
    plain_of[info] = plain
    return Restricted(
        table,
        layers,
        model.noise[1][possible],
        effects,
        info.reshape(len(table.rows), -1),
        plain_of,
        max(len(np.unique(remembered[states])) for states in layers),
    )


def _joint_table(problem: Problem) -> StateTable:
    # Two ways of wasting a doughnut are one effect, unless what is carried distinguishes them.
    merge = not _reads_action(problem)
    model = Model(problem, SchemeAndMemory(), canonical=False, merge_effects=merge)
    return tabulate(model, problem.environment.horizon)


def _reads_action(problem: Problem) -> bool:
    """Whether the memory or the scheme looks at the action itself, not only at what came of it."""
    environment: Any = problem.environment
    size = environment.num_stakeholders

    def carry(action: Any) -> Any:
        world = environment.start()
        override = Override(jnp.zeros((), dtype=bool), jnp.zeros(()))
        step = Step(
            action,
            jnp.zeros(size),
            State(world, None),
            override if environment.may_override else None,
        )
        memory, scheme_state = jax.tree.map(
            jnp.asarray, (problem.memory.init(size), problem.pay.init(size))
        )
        is_over = environment.is_over(State(world, None))
        return problem.memory.update(memory, step), problem.pay.update(scheme_state, step, is_over)

    with jax.enable_x64(True):
        program = jax.make_jaxpr(carry)(0).jaxpr
    used = [*program.outvars, *(var for line in program.eqns for var in line.invars)]
    return any(var is program.invars[0] for var in used)


def _observe(problem: Problem) -> Any:
    environment: Any = problem.environment
    return lambda world, noise: environment.observation(State(world, noise))


def _layers(
    table: StateTable, effects: Int[np.ndarray, " effect"], horizon: int
) -> list[Int[np.ndarray, " state"]]:
    """The states reachable at each step number, by effects that some possible noise allows."""
    layers = [np.arange(table.num_starts)]
    for _ in range(horizon - 1):
        cells = np.ix_(effects, np.arange(table.following.shape[1]), layers[-1])
        layers.append(np.unique(table.following[cells][table.probability[cells] > 0]))
    return layers


def _columns(tree: Any, rows: int) -> Float[np.ndarray, "row column"]:
    leaves = [
        np.asarray(leaf, dtype=np.float64).reshape(rows, -1) for leaf in jax.tree.leaves(tree)
    ]
    return np.concatenate([np.zeros((rows, 0)), *leaves], axis=1)


def _entry(tree: Any, number: int) -> Any:
    """One entry of arrays with a leading axis, as plain numbers."""
    entries = [np.asarray(leaf)[number].tolist() for leaf in jax.tree.leaves(tree)]
    return entries[0] if len(entries) == 1 else entries


def _numbers(rows: Any) -> Int[np.ndarray, " row"]:
    """A number for each row, the same for rows that are alike."""
    rounded = np.round(rows, DECIMALS) + 0.0  # minus zero is zero
    return np.unique(rounded, axis=0, return_inverse=True)[1].ravel()


def ascend(restricted: Restricted, decisions: Decisions) -> tuple[float, Decisions]:
    """Coordinate ascent: from the last step to the first, each layer's best answer to the rest.

    Given how a layer is reached and what follows it, its information sets add up to the score
    separately, so each may take its best action at once and the score never falls.
    """
    decisions, before = list(decisions), -np.inf
    while (value := restricted.value(decisions)) > before + STILL:
        before = value
        reached = restricted.reach(decisions)
        after = np.zeros(restricted.table.num_states)
        for time in reversed(range(len(decisions))):
            q = restricted.effect_values(time, after)
            scores = restricted.action_scores(time, reached[time], q)
            now = np.take_along_axis(scores, decisions[time][:, None], axis=1)[:, 0]
            better = scores.max(axis=1) > now + STILL
            decisions[time] = np.where(better, scores.argmax(axis=1), decisions[time])
            after = restricted.step_back(decisions[time], time, q)
    return value, decisions


def starts(restricted: Restricted, rng: np.random.Generator, count: int) -> Iterator[Decisions]:
    """Policies to ascend from: as if all were known after this step, memoryless, and random."""
    hopeful = _as_if_known(restricted)
    yield hopeful
    first = np.unique(restricted.plain, return_index=True)[1]
    blind = Restricted(
        restricted.table,
        restricted.layers,
        restricted.chance,
        restricted.effects,
        restricted.plain[restricted.info],
        np.arange(len(first)),
        1,
    )
    _, memoryless = ascend(blind, [decision[first] for decision in hopeful])
    yield [decision[restricted.plain] for decision in memoryless]
    actions = restricted.effects.shape[1]
    for _ in range(count):
        yield [rng.integers(0, actions, restricted.num_infos) for _ in restricted.layers]


def _as_if_known(restricted: Restricted) -> Decisions:
    """At each information set the best action, were everything known from the next step on."""
    values, decisions = backward(restricted.table), []
    for time, states in enumerate(restricted.layers):
        after = np.zeros(restricted.table.num_states)
        after[: len(values[time + 1])] = values[time + 1]
        even = np.full(len(states), 1.0 / len(states))
        scores = restricted.action_scores(time, even, restricted.effect_values(time, after))
        decisions.append(scores.argmax(axis=1))
    return decisions


# What a restricted policy cannot afford, by an information relaxation.
#
# Were everything seen, except that at one information set one action must be taken, the best score
# is found by backward induction. If even that is below a score already reached, the action can be
# left out of the search there: no policy that takes it is as good.

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


# The proof behind a restricted optimum: a mixed-integer program over how often each thing is done.
#
# Its flows y_t(x, ξ, a) are the probabilities of being in the joint state x at step t, seeing the
# noise ξ, and doing a. What is seen holds them together: a binary d_t(h, a) for each information
# set h says what is done there, and y_t(x, ξ, a) may be positive only where d_t(h, a) is 1. An
# information set of a single situation needs no binary, since there a flow is a policy already.
#
# Every column is a share of the most that it can be: what is rare would otherwise have coefficients
# below those that the solver takes for zero.

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
