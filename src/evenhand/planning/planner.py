"""The fairest policy possible: its value, what it does in a state, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from evenhand._util.checks import is_whole
from evenhand.errors import BadParameter, CannotPlan, TooLarge
from evenhand.planning.backward_induction import backward, effect_values, uniform, value_iteration
from evenhand.planning.carried_state import MemoryForStatus, SchemeAlone
from evenhand.planning.model import Model, require_listed
from evenhand.planning.state_table import MEMORY_LIMIT, Progress, StateTable, tabulate
from evenhand.problem.problem import AugmentedState, Problem, require_problem

if TYPE_CHECKING:
    from jaxtyping import Float, Int

TIES = 1e-9  # action values closer than this are equally good
LONGEST_PLAN = 100_000  # decisions, each of which has values of its own


class PlanReasons(NamedTuple):
    """What now, and why: the best action and the value of each."""

    action: int
    values: Float[np.ndarray, " action"]

    @property
    def as_good(self) -> list[int]:
        """All actions that are as good as the best."""
        return np.flatnonzero(self.values >= self.values.max() - TIES).tolist()


@dataclass(frozen=True, eq=False)
class Plan:
    """What `plan(problem)` found. It is a policy: time-dependent where the horizon is finite."""

    table: StateTable = field(repr=False)
    values: list[Float[np.ndarray, " state"]] = field(repr=False)  # by step number
    error: float = 0.0  # without a horizon: the values are within this of the optimum

    @property
    def problem(self) -> Problem:
        return self.table.model.problem

    @property
    def value(self) -> float:
        """The best score in expectation, 𝔉ᵀ(π*)."""
        return self.table.expected(self.values[0])

    @property
    def states(self) -> int:
        """How many augmented states the largest time layer has."""
        if self.table.horizon is None:
            return self.table.num_states
        # What is reachable at a step number is found from what was at the one before.
        return max(int(here.sum()) for here in self._layers())

    def _layers(self) -> list[np.ndarray]:
        layers, horizon = [self.table.first_layer()], self.table.horizon
        assert horizon is not None  # without one there are no layers to ask for
        for time in range(horizon):
            layers.append(self.table.after(layers[-1], time))
        return layers

    def random_value(self) -> float:
        """The exact score of acting at random: every action with the same probability."""
        if self.table.horizon is None:
            raise CannotPlan("the value of acting at random is computed for a finite horizon.")
        return self.table.expected(backward(self.table, uniform)[0])

    def values_of(self, time: int, worlds_and_carried: Any) -> Float[np.ndarray, "row effect"]:
        """Q of every effect for many worlds and scheme states (leading axis) at a step (from 0)."""
        model = self.table.model
        rows = model.to_rows(worlds_and_carried)
        horizon = self.table.horizon
        after, pay, probability = model.expand(rows, 0 if horizon is None else time)
        carried = np.zeros(pay.shape)
        if horizon is None or time + 1 < horizon:
            # What only a noise without any chance would bring about is not in the table.
            possible = (probability > 0) & model.possible_effects[:, None]
            following = self.table.find(after[possible])
            carried[possible] = self._values_at(time + 1)[following]
        worth = np.where(probability > 0, pay + model.discount * carried, 0.0)
        return (probability * worth).sum(axis=-1)

    def _values_at(self, time: int) -> Float[np.ndarray, " state"]:
        return self.values[0 if self.table.horizon is None else time]

    def explain(self, augmented: AugmentedState) -> PlanReasons:
        """What now, and why: the value of each action in an augmented state."""
        many = jax.tree.map(lambda leaf: np.asarray(leaf)[None], augmented)
        actions, values = self.act_many(int(augmented.state.world.time), many)
        return PlanReasons(int(actions[0]), values[0])

    def act_many(
        self, time: int, augmented: AugmentedState
    ) -> tuple[Int[np.ndarray, " run"], Float[np.ndarray, "run action"]]:
        """The best action, and the value of each, for many augmented states at one step number."""
        model = self.table.model
        q = self.values_of(time, model.placed(augmented))
        effects = model.effects[model.noise_numbers(augmented.state.noise)]
        values = np.take_along_axis(q, effects, axis=1)
        return (values >= values.max(axis=1, keepdims=True) - TIES).argmax(axis=1), values

    def is_best_everywhere(
        self, choose: Any, treats_alike: bool = False
    ) -> tuple[bool, dict[str, Any] | None]:
        """Whether a rule picks a best action in every reachable state, whatever the noise.

        `choose(world, carried, noise)` gives the action for one state; it is mapped. If it does
        not, the first state in which it fails is returned with what each action is worth there.
        A plan in canonical order holds one state for many that differ in who is who, so the rule
        must treat exchangeable stakeholders alike, but for ties among equals: `treats_alike`.
        """
        table, model = self.table, self.table.model
        if model.classes and not treats_alike:
            raise CannotPlan(
                "the plan is in canonical order, and the rule may depend on who is who: plan with "
                "canonical=False, or say that it does not (treats_alike=True)."
            )
        noises, chance = model.noise
        mapped = jax.jit(jax.vmap(jax.vmap(choose, in_axes=(None, None, 0)), in_axes=(0, 0, None)))
        layers = self._layers()[:-1] if table.horizon else [np.ones(table.num_states, dtype=bool)]
        for time, here in enumerate(layers):
            states = np.flatnonzero(here)
            worlds, scheme_state = model.from_rows(table.rows[states], time)
            with jax.enable_x64(True):
                actions = np.asarray(mapped(worlds, scheme_state, noises))
            last = time + 1 == table.horizon
            q = effect_values(table, self._values_at(time + 1), states, last)
            values = q[model.effects].transpose(2, 0, 1)  # [state, noise, action]
            chosen = np.take_along_axis(values, actions[:, :, None], axis=2)[:, :, 0]
            worse = (chosen < values.max(axis=2) - TIES) & (chance > 0)
            if worse.any():
                state, noise = np.argwhere(worse)[0]
                return False, {
                    "time": time + 1,
                    "state": table.rows[states[state]].tolist(),
                    "noise": [np.asarray(leaf)[noise].tolist() for leaf in jax.tree.leaves(noises)],
                    "chosen": int(actions[state, noise]),
                    "values": values[state, noise].tolist(),
                }
        return True, None


def plan(
    problem: Problem,
    *,
    horizon: float | None = None,
    use_memory: bool = False,
    canonical: bool = True,
    tolerance: float = 1e-9,
    memory_limit: float = MEMORY_LIMIT,
    progress: Progress | None = None,
) -> Plan:
    """The optimal policy of a finite problem, its value, and the value of every reachable state.

    By backward induction over the environment's horizon; with `horizon=math.inf` by value
    iteration to a proven bound.

    Args:
        problem: What to plan; its environment must list its noise and outcomes.
        horizon: How many decisions: the environment's own by default, or math.inf.
        use_memory: Whether to plan on the problem's memory in place of the scheme's own status,
            where that memory determines the reward (checked) and has fewer states.
        canonical: Whether to merge states that differ only in which of two exchangeable
            stakeholders is which.
        tolerance: How near to the optimum value iteration must come.
        memory_limit: Bytes that the plan may take; a problem that needs more is refused.
        progress: Called with what is done and how much there is to do.
    """
    require_problem(problem)
    if horizon is None and problem.environment.horizon > LONGEST_PLAN:
        raise TooLarge(
            f"the horizon is {problem.environment.horizon:,} decisions, and a plan looks at every "
            f"one of at most {LONGEST_PLAN:,}: give the environment a shorter horizon, plan "
            "without one (math.inf), or use a learner."
        )
    model = Model(problem, MemoryForStatus() if use_memory else SchemeAlone(), canonical)
    require_listed(model)
    if not (horizon is None or horizon == math.inf or is_whole(horizon)):
        raise BadParameter(
            f"horizon is {horizon!r}: it must be a whole number from 1, or math.inf."
        )
    if horizon == math.inf:
        table = tabulate(model, None, memory_limit)
        values, error = value_iteration(table, tolerance)
        return Plan(table, [values], error)
    steps = problem.environment.horizon if horizon is None else int(horizon)
    if steps != problem.environment.horizon:
        raise BadParameter(
            f"horizon is {horizon}, and the environment has {problem.environment.horizon}: build "
            "the environment with the horizon you want, or pass math.inf."
        )
    table = tabulate(model, steps, memory_limit, progress)
    return Plan(table, backward(table, progress=progress))
