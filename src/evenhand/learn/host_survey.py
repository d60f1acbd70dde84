"""What a short random walk tells of an environment: units, scales, and whom an action serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from evenhand.fairness.trace import Step
from evenhand.learn.deep.encoders import Encoder, Layout
from evenhand.learn.deep.measured import Gains, Measured
from evenhand.learn.host import HostWorld, override_in
from evenhand.learn.shaping import steps_left
from evenhand.problem.problem import AugmentedState, Problem
from evenhand.problem.reward_check import require_reward

if TYPE_CHECKING:
    from jaxtyping import Float, Int

FEWEST_VISITS = 8  # of an action, before it is believed whom it serves


@dataclass(frozen=True, eq=False)
class Survey:
    """Random decisions in an environment on the host."""

    actions: Int[np.ndarray, " step"]
    rewards: Float[np.ndarray, "step stakeholder"]
    pays: Float[np.ndarray, " step"]
    welfares: Float[np.ndarray, " step"]  # the change of welfare, over the steps of each episode
    times: Int[np.ndarray, " step"]
    visited: list[AugmentedState]

    @property
    def unit(self) -> float:
        """The mean size of what is received, where something is."""
        sizes = np.abs(self.rewards[self.rewards != 0])
        return float(sizes.mean()) if sizes.size else 1.0

    def serves(self, num_actions: int) -> tuple[tuple[int, ...], ...]:
        """Whom each action serves, if the actions are somebody's; nothing otherwise.

        An action serves those whose rewards are ever other than usual after it. If that is most of
        them, actions are not somebody's: amounts, say, or directions.
        """
        unusual = self.rewards != _usual(self.rewards)
        taken = [self.actions == action for action in range(num_actions)]
        if min(int(which.sum()) for which in taken) < FEWEST_VISITS:
            return ()
        served = tuple(tuple(np.flatnonzero(unusual[which].any(axis=0)).tolist()) for which in taken)
        everyone = set().union(*served) == set(range(self.rewards.shape[1]))
        most = max(map(len, served))
        return served if everyone and 2 * most <= self.rewards.shape[1] else ()

    def amount(self, problem: Problem) -> tuple[float, ...]:
        """What a stakeholder receives when served, by its features of the state: least squares."""
        world = problem.environment
        assert isinstance(world, HostWorld)
        serves = self.serves(world.num_actions)
        layout = world.layout
        if not serves or layout is None or not layout.per_stakeholder:
            return ()
        states = np.stack([at.state for at in self.visited])
        features = states[:, np.asarray(layout.per_stakeholder)].transpose(0, 2, 1)  # [t, n, k]
        rows, who = zip(*[(t, i) for t, a in enumerate(self.actions) for i in serves[a]], strict=True)
        seen = features[list(rows), list(who)]
        given = self.rewards[list(rows), list(who)]
        design = np.column_stack((np.ones(len(seen)), seen))
        return tuple(np.linalg.lstsq(design, given, rcond=None)[0].tolist())

    def encoder(self, problem: Problem, reward: float, relative: bool) -> Measured:
        """Features in units of what was seen."""
        raw = Gains(self.unit, self.amount(problem))
        layout = raw.layout(problem)
        code = jax.jit(jax.vmap(lambda at: raw(problem, at.state, at.seen)))
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *self.visited)
        shown = np.asarray(code(stacked), dtype=np.float64)
        cut = layout.stakeholders * layout.each
        each = shown[:, :cut].reshape(-1, layout.each)
        gains = np.abs(each[:, raw.gain_column]).reshape(len(shown), -1).max(axis=1)
        floor = 0.05 * reward * float(gains.mean()) if relative else 0.0
        return Measured(raw, _moments(each), _moments(shown[:, cut:]), reward, floor)

    def scale(self, shaping: bool, discount: float, horizon: int) -> float:
        """What makes the rewards that a learner gets about as large as 1."""
        paid = self.pays
        if shaping:
            left = np.asarray(steps_left(self.times, horizon, True, discount))
            paid = left * self.welfares
        size = float(np.sqrt(np.mean(np.square(paid))))
        return 1.0 / size if size > 0 else 1.0


def survey(problem: Problem, steps: int, rng: np.random.Generator) -> Survey:
    """Decide at random for so many steps."""
    world = problem.environment
    assert isinstance(world, HostWorld)
    template = problem.initial(jax.random.key(0))
    status = problem.scheme.status

    def follow(augmented: Any, action: Any, paid: Any, state: Any, is_over: Any) -> Any:
        after, pay = problem.after(augmented, Step(action, paid[0], state, paid[1]), state, is_over)
        vectors = status.value(augmented.scheme_state.status), status.value(after.scheme_state.status)
        before, then = (problem.scheme.contribution(vector) for vector in vectors)
        return after, pay, then - before, vectors[1]

    compiled = jax.jit(follow)
    rows: list[Any] = []
    visited: list[AugmentedState] = []
    is_over, time = True, 0
    for step in range(steps):
        if is_over:
            state = world.process.initial(rng)
            augmented, time = template._replace(state=world.seen(state)), 0
        visited.append(augmented)
        action = int(rng.integers(world.num_actions))
        answer = world.process.step(state, action, rng)
        state, time = answer.next_state, time + 1
        is_over = answer.terminated or answer.truncated or time == world.horizon
        paid = np.asarray(answer.rewards, dtype=np.float32), override_in(world, answer)
        augmented, pay, welfare, vector = compiled(augmented, action, paid, world.seen(state), is_over)
        require_reward(problem, float(pay), vector, f" after {step + 1} random decisions")
        rows.append((action, np.asarray(answer.rewards), float(pay), float(welfare), time - 1))
    actions, rewards, pays, welfares, times = (np.array(column) for column in zip(*rows, strict=True))
    return Survey(actions, rewards, pays, welfares, times, jax.device_get(visited))


def _usual(rewards: Float[np.ndarray, "step stakeholder"]) -> Float[np.ndarray, " stakeholder"]:
    """The most frequent reward of each stakeholder."""
    modes = []
    for column in rewards.T:
        values, counts = np.unique(column, return_counts=True)
        modes.append(values[np.argmax(counts)])
    return np.array(modes)


def _moments(values: Float[np.ndarray, "item feature"]) -> tuple[tuple[float, float], ...]:
    """Mean and deviation of each feature; one that never changed is left in its unit."""
    mean, deviation = values.mean(axis=0), values.std(axis=0)
    deviation = np.where(deviation > 1e-6 * (1e-6 + np.abs(mean)), deviation, 1.0)
    return tuple((float(m), float(d)) for m, d in zip(mean, deviation, strict=True))
