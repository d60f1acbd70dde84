"""What a short random walk tells of an environment: units, scales, and whom an action serves.

The defaults of a learner on the host come from here, and not from what kind of environment it is:
with the same amounts in grams or in kilograms it is the same learner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from evenhand.fairness.trace import Step
from evenhand.learn.deep.gains import Gains
from evenhand.learn.deep.measured_features import Moments
from evenhand.learn.host_world import HostWorld, Walk
from evenhand.problem.checks import require_reward
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FEWEST_VISITS = 8  # of an action, before it is believed whom it serves
Serves = tuple[tuple[int, ...], ...]


class Measurements(NamedTuple):
    """What was measured: all that the defaults of a learner take from an environment."""

    unit: float  # a typical amount
    amount: tuple[float, ...]  # see `Gains`
    serves: Serves  # see `StakeholderNetwork`
    each: Moments  # see `Measured`
    common: Moments
    pay: float  # a typical reward of a step
    gain: float  # a typical change of welfare at a step, of either sign
    largest_gain: float  # the mean of the largest that serving somebody would bring


@dataclass(frozen=True, eq=False)
class Survey:
    """Random decisions in an environment on the host."""

    actions: Int[np.ndarray, " step"]
    rewards: Float[np.ndarray, "step stakeholder"]
    pays: Float[np.ndarray, " step"]
    gains: Float[np.ndarray, " step"]  # by how much the welfare changed
    visited: list[AugmentedState]  # before each decision

    @property
    def unit(self) -> float:
        """The mean size of what is received, where something is."""
        sizes = np.abs(self.rewards[self.rewards != 0])
        return float(sizes.mean()) if sizes.size else 1.0

    def serves(self, num_actions: int) -> Serves:
        """Whom each action serves, if the actions are somebody's; nothing otherwise.

        An action serves those whose rewards are ever other than usual after it. If that is more
        than half of them, actions are not somebody's: amounts, say, or directions.
        """
        unusual = self.rewards != _usual(self.rewards)
        taken = [self.actions == action for action in range(num_actions)]
        if min(int(which.sum()) for which in taken) < FEWEST_VISITS:
            return ()
        served = tuple(
            tuple(np.flatnonzero(unusual[which].any(axis=0)).tolist()) for which in taken
        )
        size = self.rewards.shape[1]
        everyone = {i for one in served for i in one} == set(range(size))
        return served if everyone and 2 * max(map(len, served)) <= size else ()

    def amount(self, world: HostWorld, serves: Serves) -> tuple[float, ...]:
        """What a stakeholder receives when served, by its features of the state: least squares."""
        layout = world.layout
        pairs = [(t, i) for t, a in enumerate(self.actions) for i in (serves[a] if serves else ())]
        if not pairs or layout is None or not layout.per_stakeholder:
            return ()
        when, who = (list(one) for one in zip(*pairs, strict=True))
        states = np.stack([at.state for at in self.visited])
        features = states[:, np.asarray(layout.per_stakeholder)].transpose(0, 2, 1)[when, who]
        design = np.column_stack((np.ones(len(features)), features))
        return tuple(np.linalg.lstsq(design, self.rewards[when, who], rcond=None)[0].tolist())

    def measure(self, problem: Problem, serves: Serves | None = None) -> Measurements:
        """All that the defaults take from an environment; `serves` where it is known."""
        world = problem.environment
        assert isinstance(world, HostWorld)
        serves = self.serves(world.num_actions) if serves is None else serves
        raw = Gains(self.unit, self.amount(world, serves))

        def look(at: AugmentedState) -> Any:
            features, served = raw.look(problem, at.state, at.seen)
            return features, None if served is None else served.gain

        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *self.visited)
        shown, gains = jax.device_get(jax.jit(jax.vmap(look))(stacked))
        largest = 0.0 if gains is None else float(np.abs(gains).max(axis=1).mean())
        each = shown.each.reshape(-1, shown.each.shape[-1])
        return Measurements(
            self.unit,
            raw.amount,
            serves,
            _moments(each),
            _common_moments(shown.common, world),
            _typical(self.pays),
            _typical(self.gains),
            largest,
        )


def survey(problem: Problem, steps: int, rng: np.random.Generator) -> Survey:
    """Decide at random for so many steps.

    Args:
        problem: Its environment is a `HostWorld`.
        steps: How many decisions.
        rng: Of the decisions and of the environment.
    """
    world, status = problem.environment, problem.scheme.status
    assert isinstance(world, HostWorld)
    template = problem.initial(jax.random.key(0))

    def follow(augmented: Any, action: Any, outcome: Any) -> Any:
        rewards, override, state, _, is_over, _ = world.unpack(outcome)
        after, pay = problem.after(
            augmented, Step(action, rewards, state, override), state, is_over
        )
        vectors = [status.value(at.scheme_state.status) for at in (augmented, after)]
        gain = np.zeros(())
        if problem.scheme.welfare is not None:
            before, then = (problem.scheme.contribution(vector) for vector in vectors)
            gain = then - before
        return after, pay, gain, vectors[1]

    compiled = jax.jit(follow)
    rows: list[Any] = []
    visited: list[AugmentedState] = []
    walk = Walk(world, world.process, rng)
    augmented = template._replace(state=walk.shown)
    untried: list[int] = []
    for step in range(steps):
        visited.append(augmented)
        # Each about as often, where all are possible: so it is soonest known what they do.
        untried = untried or rng.permutation(world.num_actions).tolist()
        action = walk.random_action(rng) if world.masked else untried.pop()
        outcome = walk.step(action)
        augmented, pay, gain, vector = jax.device_get(compiled(augmented, action, outcome))
        require_reward(problem, float(pay), vector, f" after {step + 1} random decisions")
        rows.append((action, outcome[: world.num_stakeholders], pay, gain))
        if walk.decided == 0:
            augmented = template._replace(state=walk.shown)
    actions, rewards, pays, gains = (np.array(column) for column in zip(*rows, strict=True))
    return Survey(actions, rewards, pays, gains, jax.device_get(visited))


def _usual(rewards: Float[np.ndarray, "step stakeholder"]) -> Float[np.ndarray, " stakeholder"]:
    """The most frequent reward of each stakeholder."""
    modes = []
    for column in rewards.T:
        values, counts = np.unique(column, return_counts=True)
        modes.append(values[np.argmax(counts)])
    return np.array(modes)


def _typical(values: Float[np.ndarray, " step"]) -> float:
    finite = values[np.isfinite(values)]
    size = float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
    return size or 1.0


def _common_moments(values: Float[np.ndarray, "item feature"], world: HostWorld) -> Moments:
    """As `_moments`; a mask, which comes first, is left as it is."""
    moments = _moments(values)
    return (
        ((0.0, 1.0),) * world.num_actions + moments[world.num_actions :]
        if world.masked
        else moments
    )


def _moments(values: Float[np.ndarray, "item feature"]) -> Moments:
    """Mean and deviation of each feature; one that never changed is left in its unit."""
    values = np.asarray(values, dtype=np.float64)
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    deviation = np.where(deviation > 1e-6 * np.abs(mean), deviation, 1.0)
    return tuple((float(m), float(d)) for m, d in zip(mean, deviation, strict=True))
