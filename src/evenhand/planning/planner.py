"""The exact optimum by backward induction, as a plan that can be played, saved and read again."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand import __version__
from evenhand._util.checks import is_whole
from evenhand._util.saved import SavedRecord, read_tensors, reading_saved, write_tensors
from evenhand._util.wording import short_repr
from evenhand.envs.own_environment import know_imported
from evenhand.errors import BadFile, BadParameter, CannotPlan, TooLarge
from evenhand.fairness.status import Returns
from evenhand.planning.model import MemoryForStatus, Model, SchemeAlone, require_listed
from evenhand.planning.table import MEMORY_LIMIT, Progress, RowIndex, StateTable, tabulate
from evenhand.problem.problem import (
    AugmentedState,
    Problem,
    build_problem,
    describe_problem,
    require_problem,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Int


# The value of every state: backward induction, and value iteration where there is no end.
#
# The decider sees the noise before acting, so V(x) = E_ξ max_a Q(x, ξ, a): who is at the counter is
# integrated out, not put in the table.

BLOCK = 8192  # states at a time, so that their action values stay in the cache

Choice = Callable[[StateTable, "Float[np.ndarray, 'effect state']", int, int], np.ndarray]


def best(
    table: StateTable, values: Float[np.ndarray, "effect state"], time: int, start: int
) -> Float[np.ndarray, " state"]:
    """E_ξ max_a Q(x, ξ, a)."""
    effects, chance = table.model.effects, table.model.noise[1]
    total = np.zeros(values.shape[1])
    for effects_here, probability in zip(effects, chance, strict=True):
        if probability > 0:
            best_here = None
            for effect in np.unique(effects_here):
                q = values[effect]
                best_here = q if best_here is None else np.maximum(best_here, q)
            total += probability * best_here
    return total


def uniform(
    table: StateTable, values: Float[np.ndarray, "effect state"], time: int, start: int
) -> Float[np.ndarray, " state"]:
    """E_ξ of the mean over actions: the value of acting at random."""
    effects, chance = table.model.effects, table.model.noise[1]
    weights = np.zeros(len(values))
    np.add.at(weights, effects, chance[:, None] / effects.shape[1])
    return weights @ values


def effect_values(
    table: StateTable, after: Float[np.ndarray, " state"], states: slice | np.ndarray, last: bool
) -> Float[np.ndarray, "effect state"]:
    """Q of each effect: its expected reward, and the value of what follows."""
    pay = (table.last_pay if last else table.pay)[:, states]
    following = table.following[:, :, states]
    carried = np.einsum("eks,eks->es", table.probability[:, :, states], after[following])
    return pay + table.model.discount * carried


def backward(
    table: StateTable, choice: Choice = best, progress: Progress | None = None
) -> list[Float[np.ndarray, " state"]]:
    """Backward induction: the value of every state at step numbers 0, …, T, under a choice."""
    horizon = table.horizon
    if horizon is None:
        raise CannotPlan("backward induction needs a finite horizon.")
    # There is no reward after the last step, wherever it leads.
    values = [np.zeros(table.num_states)]
    for time in reversed(range(horizon)):
        count, after = table.within[time], values[-1]
        here = np.empty(count)
        for start in range(0, count, BLOCK):
            states = slice(start, min(start + BLOCK, count))
            q = effect_values(table, after, states, last=time == horizon - 1)
            here[states] = choice(table, q, time, start)
        values.append(here)
        if progress:
            progress(horizon - time, horizon)
    _require_assessed(table, values, horizon)
    return values[::-1]


def _require_assessed(
    table: StateTable, values: list[Float[np.ndarray, " state"]], horizon: int
) -> None:
    """Refuse a scheme under which an episode can end unassessed, with such an end as witness."""
    if np.isfinite(table.expected(values[-1])):
        return
    here = table.first_layer()
    for time in range(horizon - 1):
        here = table.after(here, time)
    ends = np.flatnonzero(here[: table.pay.shape[1]])
    state = ends[np.isnan(table.last_pay[:, ends]).any(axis=0).argmax()]
    raise CannotPlan(
        "the scheme can end without any assessment, and then has no score: for instance where an "
        f"episode comes to {np.round(table.rows[state], 6).tolist()} before its last decision. "
        "Name a score for that case (empty=…), or choose a filter that is sure to fire."
    )


def value_iteration(
    table: StateTable, tolerance: float = 1e-9, max_sweeps: int = 1_000_000
) -> tuple[Float[np.ndarray, " state"], float]:
    """The discounted values without a horizon, and a bound on their error.

    One sweep is a contraction by γ, so values that changed by d in the last sweep are within
    γ/(1 − γ)·d of the fixed point.
    """
    discount = table.model.discount
    if not discount < 1.0:
        raise CannotPlan(
            "without a horizon a plan needs a discount below 1: use Discounted(0.95), or a horizon."
        )
    values = np.zeros(table.num_states)
    for _ in range(max_sweeps):
        after = np.concatenate(
            [
                best(table, effect_values(table, values, slice(s, s + BLOCK), False), 0, s)
                for s in range(0, table.num_states, BLOCK)
            ]
        )
        error = discount / (1.0 - discount) * float(np.abs(after - values).max())
        values = after
        if error <= tolerance:
            return values, error
    raise CannotPlan(f"the values are only within {error:g} after {max_sweeps} sweeps.")


# The fairest policy possible: its value, what it does in a state, and why.

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


# Plans as files: the problem in words, and the value of every state.

ARRAYS = ("rows", "within", "following", "probability", "pay", "last_pay", "values", "ends")


def save_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan to a file: its problem in words, and every value."""
    table = plan.table
    arrays = {
        "rows": table.rows,
        "within": np.array(table.within),
        "following": table.following,
        "probability": table.probability,
        "pay": table.pay,
        "last_pay": table.last_pay,
        "values": np.concatenate(plan.values),
        "ends": np.cumsum([len(values) for values in plan.values]),
    }
    header = {
        "version": __version__,
        **describe_problem(plan.problem),
        "use_memory": table.model.carried.sees_memory,
        "canonical": table.model.canonical,
        "keep_time": table.model.keep_time,
        "horizon": table.horizon,
        "error": plan.error,
    }
    write_tensors(path, "plan", header, arrays)


def load_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan from a file; one that was changed or cut is refused."""
    header, arrays = read_tensors(path, "plan", ARRAYS)
    record = SavedRecord(header, path)
    with reading_saved(path, "plan"):
        know_imported(header.get("environment"))
        problem = build_problem(header, path)
        horizon = record.value("horizon")
        if horizon not in (None, problem.environment.horizon):
            raise BadFile(
                f"it was planned for {short_repr(horizon)} decisions, and its environment has "
                f"{problem.environment.horizon}."
            )
        carried = MemoryForStatus() if record.flag("use_memory") else SchemeAlone()
        model = Model(
            problem,
            carried,
            record.flag("canonical"),
            keep_time=record.flag("keep_time", default=False),
        )
        _require_forms(model, horizon, arrays)
        values = np.split(arrays["values"], arrays["ends"][:-1])
        return Plan(_table(model, horizon, arrays), values, record.number("error"))


def _require_forms(model: Model, horizon: int | None, arrays: dict[str, np.ndarray]) -> None:
    """Refuse arrays of other types, shapes or numbers than belong to each other and to a model."""
    states, steps = len(arrays["rows"]), len(arrays["within"])
    effects, outcomes, expanded = arrays["following"].shape
    forms: dict[str, tuple[type, tuple[int, ...]]] = {
        "rows": (np.float64, (states, model.start.shape[1])),
        "within": (np.int64, (steps if horizon is None else horizon + 1,)),
        "following": (np.int32, (model.num_effects, outcomes, expanded)),
        "probability": (np.float64, (effects, outcomes, expanded)),
        "pay": (np.float64, (effects, expanded)),
        "last_pay": (np.float64, (effects, expanded)),
        "values": (np.float64, (len(arrays["values"]),)),
        "ends": (np.int64, (1 if horizon is None else horizon + 1,)),
    }
    for name, (dtype, shape) in forms.items():
        if arrays[name].dtype != dtype or arrays[name].shape != shape:
            raise BadFile(
                f"the array {name!r} is of {arrays[name].dtype} in the shape "
                f"{arrays[name].shape}, where {np.dtype(dtype)} in the shape {shape} belongs."
            )
    within, ends, following = arrays["within"], arrays["ends"], arrays["following"]
    counts = np.diff(ends, prepend=0)
    first = within[:-1] if horizon is not None else within[:0]
    fits = (
        0 < expanded <= states
        and not np.isnan(arrays["rows"]).any()
        and (np.diff(within, prepend=1) >= 0).all()
        and (within <= states).all()
        and following.min(initial=0) >= 0
        and following.max(initial=0) < states
        and ends[-1] == len(arrays["values"])
        and counts[-1] == states
        and (counts[:-1] == first).all()
    )
    if not fits:
        raise BadFile("its states are numbered in a way that no plan numbers them.")


def _table(model: Model, horizon: int | None, arrays: dict[str, np.ndarray]) -> StateTable:
    index = RowIndex(arrays["rows"].shape[1])
    with np.errstate(invalid="ignore"):  # numbers too large to be told apart
        index.number_in_order(arrays["rows"])
    return StateTable(
        model,
        horizon,
        arrays["rows"],
        arrays["within"].tolist(),
        arrays["following"],
        arrays["probability"],
        arrays["pay"],
        arrays["last_pay"],
        index,
    )


# Section 6 (turn taking): whether serving the least served of those present is optimal.

MAX_CHECKED = 50_000_000  # triples of state, noise and action that are looked at


@dataclass(frozen=True)
class TurnTakingCheck:
    """Whether turn taking is optimal in every reachable state; if not, a state where it is not."""

    optimal: bool
    witness: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        if self.witness is None:
            return {"optimal": self.optimal}
        return {"optimal": self.optimal, "witness": self.witness}

    def describe(self) -> str:
        if self.witness is None:
            return (
                "The optimal policy is turn taking: of those present, serve the one who has had "
                "least. This holds in every state that can be reached, at every step."
            )
        values, chosen = self.witness["values"], self.witness["chosen"]
        best = max(range(len(values)), key=values.__getitem__)
        present = [i for i, here in enumerate(self.witness["noise"][0]) if here]
        return (
            f"Turn taking is not optimal here: at step {self.witness['time']}, with {present} "
            f"present, it serves {chosen} (worth {values[chosen]:.4f}) where serving {best} is "
            f"worth {values[best]:.4f}."
        )


def check_turn_taking(found: Plan) -> TurnTakingCheck | None:
    """Compare a plan with turn taking in every state; None where that means nothing or takes long.

    Args:
        found: The plan of a problem in which stakeholders are served in turn, judged by what each
            has received.
    """
    problem, table = found.problem, found.table
    environment: Any = problem.environment
    if not environment.takes_turns or problem.scheme.status != Returns():
        return None
    noises = len(table.model.noise[1])
    if sum(table.within[:-1]) * noises * environment.num_actions > MAX_CHECKED:
        return None

    def least_served(world: Any, scheme_state: Any, noise: Any) -> Any:
        return jnp.argmin(jnp.where(noise, scheme_state.status.total, jnp.inf))

    optimal, witness = found.is_best_everywhere(least_served, treats_alike=True)
    return TurnTakingCheck(optimal, witness)
