"""Section 5.1 turned round: the best score of policies that see only π_t(seen state, seen memory).

The world and the scheme's state go on as they are, but the policy cannot distinguish
situations that look alike: they form an information set, and get one action. Time is known. A
deterministic policy is as good as any: no information set is met twice in an episode, so the
expected score is linear in what is done at each of them while the others are held, and a linear
function on a simplex is greatest at a corner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.envs import State
from evenhand.fairness.trace import Override, Step
from evenhand.planning.backward_induction import backward, effect_values
from evenhand.planning.carried_state import SchemeAndMemory
from evenhand.planning.model import Model
from evenhand.planning.state_table import StateTable, tabulate
from evenhand.problem.problem import Problem

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

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
