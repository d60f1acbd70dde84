"""A learner for any problem: everything about it is derived from the problem and its random play.

No environment is looked up by its type. What is derived, and from what:

- the memory: the smallest known that determines the reward, and a clock where the horizon ends
- the scale of rewards, statuses and observations: random play
- the discount: 1 where the horizon is short, else less, and least where shaping helps
- exploration, warm-up, the fall of the learning rate: shares of the steps that there are
- the network: it treats alike whom environment, scheme and memory treat alike
- shaping: wherever the scheme allows it
- what each choice does at once, as features: where the environment says that this is certain
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from evenhand._util.checks import is_whole
from evenhand.errors import BadParameter
from evenhand.fairness.groups import refine
from evenhand.learn.deep.at_once import AtOnce
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Encoder, observed
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network
from evenhand.learn.deep.standardised import Standardised
from evenhand.learn.deep.targets import Huber, PolyakUpdate
from evenhand.learn.determining_memory import FoundMemory, find_memory
from evenhand.learn.proposals import Everything, NoProposal, Proposal, Replayed
from evenhand.learn.random_play import RandomPlay, typical
from evenhand.learn.schedules import ExplorationBySteps, Watkins
from evenhand.learn.shaping import may_shape, shaped_pay
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.problem.problem import Problem, require_problem

if TYPE_CHECKING:
    from jaxtyping import Float

LONGEST_EPISODE = 256  # decisions: a longer horizon cuts episodes off rather than ends them
FEW_STEPS = 20  # an episode of at most so many is learned to its end, undiscounted
SHORT_VIEW, FAR_VIEW = 0.9, 0.99  # the discount of longer ones: with shaping, and without
WIDTHS = (64, 64)
FEWEST_STEPS = 10
EPISODES, LEAST_DEFAULT = 1_000, 30_000  # learned from where nothing is said: whichever is more
IMAGINED = 4  # memories beside the real one, where any are


def default_learner(
    problem: Problem,
    *,
    steps: int,
    keep_memory: bool = False,
    proposal: Proposal | None = None,
    **settings: Any,
) -> DQN:
    """A learner with a network whose every setting is derived from the problem.

    Args:
        problem: What to learn: an environment and a scheme.
        steps: How many decisions it will take: exploration and learning rate fall by them.
        keep_memory: Whether to see the problem's own memory; by default the smallest known that
            determines the reward is found and used in its place.
        proposal: What to imagine; by default four memories that could be, where the memory
            determines the reward and its past matters.
        **settings: Any field of `DQN`, in place of what is derived.
    """
    require_problem(problem)
    _require_steps(steps)
    goes_on = getattr(problem.environment, "goes_on", False)
    ends = problem.environment.horizon <= LONGEST_EPISODE and not goes_on
    found = find_memory(problem, clock=ends, keep=keep_memory)
    seen, play = found.problem, found.play
    discount = settings.get("discount", default_discount(seen, ends))
    shaping = settings.get("shaping", may_shape(seen, ends, discount))
    rewards = learned_rewards(seen, play, ends, discount, shaping)
    baseline = rewards.mean(axis=0) if ends else np.zeros(0)
    chosen: dict[str, Any] = {
        "problem": seen,
        "proposal": imagined_by_default(found) if proposal is None else proposal,
        "encoder": default_encoder(found),
        "network": default_network(seen),
        "discount": discount,
        "horizon_terminates": ends,
        "shaping": shaping,
        "baseline": tuple(baseline.tolist()),
        "scale": 1.0 / value_size(rewards - baseline if ends else rewards, discount),
        "learning_rate": 1e-3,
        "halved_after": max(1, steps // 10),
        "batch": 128,
        "capacity": 50_000,
        "warm_up": min(1000, max(1, steps // 20)),
        "exploration": ExplorationBySteps(max(1, steps // 3)),
        "target": PolyakUpdate(0.005),
        "double": True,
        "loss": Huber(1.0),
    }
    return DQN(**{**chosen, **settings})


def default_tables(
    problem: Problem,
    *,
    keep_memory: bool = False,
    proposal: Proposal | None = None,
) -> Tabular:
    """The same for a problem that is small enough for tables.

    Args:
        problem: What to learn: an environment and a scheme.
        keep_memory: Whether to see the problem's own memory.
        proposal: What to imagine; by default every other memory there is.
    """
    found = find_memory(problem, clock=True, keep=keep_memory)
    seen = found.problem
    shaping = may_shape(seen, True, seen.discount)
    if proposal is None:
        proposal = Everything() if found.determines and found.looks_back else NoProposal()
    return Tabular(
        seen,
        proposal,
        discount=seen.discount,
        rate=Watkins(0.6),
        horizon_terminates=True,
        shaping=shaping,
    )


def default_steps(horizon: int) -> int:
    """How many decisions to learn from where nothing is said: short episodes need more of them.

    Args:
        horizon: How many decisions an episode has.
    """
    return max(EPISODES * horizon, LEAST_DEFAULT)


def default_discount(problem: Problem, ends: bool) -> float:
    """1 where there are few steps to learn to the end; less where there are many.

    With shaping a step is paid for what it changes for good, so that a short view is enough, and
    is learned with far smaller errors.
    """
    if problem.discount < 1.0 or (ends and problem.environment.horizon <= FEW_STEPS):
        return problem.discount
    return SHORT_VIEW if may_shape(problem, ends, SHORT_VIEW) else FAR_VIEW


def imagined_by_default(found: FoundMemory) -> Proposal:
    """Few memories that could be, where they have a reward and their past matters; else none."""
    return Replayed(IMAGINED) if found.determines and found.looks_back else NoProposal()


def default_network(problem: Problem) -> Network:
    """One that treats alike whom all parts of the problem treat alike.

    Where there is an action for each stakeholder; elsewhere fully connected layers.
    """
    environment: Any = problem.environment
    size = environment.num_stakeholders
    if environment.num_actions != size:
        return MLP((128, 128))
    own = getattr(environment, "exchangeable", None)
    parts = [problem.scheme.exchangeable(size), problem.memory.exchangeable(size)]
    kinds = refine([*parts, tuple(range(size)) if own is None else own()], size)
    groups = getattr(problem.scheme.status, "groups", None)
    return EquivariantMLP(WIDTHS, groups=groups, kinds=kinds if len(set(kinds)) > 1 else ())


def default_encoder(found: FoundMemory) -> Encoder:
    """What random play shows of sizes; and what each choice does at once, where that is certain."""
    problem, environment = found.problem, found.problem.environment
    measured = measured_encoder(problem, found.play)
    certain = getattr(environment, "certain_outcomes", False)
    own = environment.num_actions == environment.num_stakeholders
    known = found.determines and problem.scheme.status.per_stakeholder
    return AtOnce(measured) if certain and own and known else measured


def measured_encoder(problem: Problem, play: RandomPlay) -> Standardised:
    """An encoder whose sizes are those that random play shows."""
    first = jax.eval_shape(problem.initial, jax.random.key(0))
    whats: list[bool] = []

    def look(augmented: Any) -> Any:
        seen = observed(problem, augmented.state, augmented.seen)
        whats.extend(attribute.counts for attribute in seen)
        return tuple(attribute.values for attribute in seen)

    jax.eval_shape(look, first)
    shifts, sizes = [], []
    for counts, values in zip(whats, play.observed, strict=True):
        numbers = np.asarray(values, dtype=np.float64)[~play.over]
        spread = float(numbers.std()) if numbers.size else 0.0
        shifts.append(0.0 if counts or not numbers.size else float(numbers.mean()))
        sizes.append(play.unit if counts else spread or 1.0)
    change = np.diff(play.status, axis=1)
    return Standardised(tuple(shifts), tuple(sizes), typical(change))


def learned_rewards(
    problem: Problem, play: RandomPlay, ends: bool, discount: float, shaping: bool
) -> Float[np.ndarray, "episode time"]:
    """The rewards of random play as a learner gets them: with shaping, and 0 beyond the end."""
    pay = shaped_pay(problem, play.status, play.pay, ends, discount) if shaping else play.pay
    return np.where(play.over, 0.0, pay)


def value_size(rewards: Float[np.ndarray, "episode time"], discount: float) -> float:
    """How large the values are that the network has to learn: the spread of what is to come."""
    ahead = np.zeros_like(rewards)
    total = np.zeros(len(rewards))
    for time in reversed(range(rewards.shape[1])):
        total = rewards[:, time] + discount * total
        ahead[:, time] = total
    size = float(ahead.std())
    return size if size > 0 and np.isfinite(size) else 1.0


def _require_steps(steps: int) -> None:
    if not is_whole(steps, FEWEST_STEPS):
        raise BadParameter(
            f"steps is {steps!r}: it must be a whole number from {FEWEST_STEPS}, as exploration "
            "falls by them."
        )
