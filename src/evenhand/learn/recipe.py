"""The default recipe: memory, scale, features and budget derived from measured play."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import is_whole
from evenhand.errors import BadParameter, EvenhandError, NotFinite
from evenhand.fairness.groups import refine
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Step
from evenhand.learn.deep.agent import Huber, PolyakUpdate
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import (
    AtOnce,
    Encoder,
    Gains,
    Measured,
    Moments,
    Standardised,
    observed,
)
from evenhand.learn.deep.networks import MLP, EquivariantMLP, Network, StakeholderNetwork
from evenhand.learn.host import HostWorld, Walk
from evenhand.learn.imagined_memories import Everything, NoProposal, Proposal, Replayed
from evenhand.learn.schedules import ExplorationBySteps, Watkins, may_shape, shaped_pay
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import (
    Clock,
    Full,
    GroupDifference,
    GroupFull,
    Memory,
    Min,
    OfStatus,
    Product,
)
from evenhand.problem.checks import (
    RandomDecision,
    agree,
    along_random_episodes,
    require_claim,
    require_reward,
)
from evenhand.problem.problem import AugmentedState, Problem, require_problem
from evenhand.problem.reward import reward_like

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int


# What random play shows of a problem: how large rewards, statuses and observations are.
#
# The defaults of a learner come from here, and not from what kind of environment it is: with the
# same amounts in grams or in kilograms it is the same learner. Several memories are tried in the
# same play, which is compiled once.

RANDOM_EPISODES = 32


class MemoryTrial(NamedTuple):
    """How a memory fared along random play."""

    claimed: Any  # [episode, time]: the reward by the status that it claims to know
    looks_back: Any  # [episode, time]: whether from another memory it is another
    observed: tuple[np.ndarray, ...]  # the values of its attributes, before each decision


class RandomPlay(NamedTuple):
    """Random episodes, or the beginnings of long ones: arrays of [episode, time, …]."""

    received: Float[np.ndarray, "episode time stakeholder"]
    pay: Float[np.ndarray, "episode time"]
    status: Float[np.ndarray, "episode time status"]
    over: Bool[np.ndarray, "episode time"]  # whether the episode was over before the step
    observed: tuple[np.ndarray, ...]  # the values of all attributes, before each decision
    trials: tuple[MemoryTrial, ...] = ()  # of each memory that was tried

    @property
    def unit(self) -> float:
        """A typical amount that somebody receives at once: the median of those that are not 0."""
        return typical(self.received[~self.over])

    def determines(self, k: int) -> bool:
        """Whether the k-th memory gave the right reward at every step."""
        return bool((agree(self.trials[k].claimed, self.pay) | self.over).all())

    def looks_back(self, k: int) -> bool:
        """Whether the k-th memory ever depended on what it was before."""
        return bool(self.trials[k].looks_back.any())


def typical(values: np.ndarray) -> float:
    """The median size of the values that are not 0; 1 where all are."""
    sizes = np.abs(np.asarray(values, dtype=np.float64).ravel())
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if sizes.size else 1.0


@functools.lru_cache(maxsize=32)
def random_play(problem: Problem, memories: tuple[Memory, ...] = ()) -> RandomPlay:
    """Some random episodes of a compiled environment; a reward that is no number is refused.

    Args:
        problem: The environment and the scheme; what is observed is seen with its memory.
        memories: Other memories to try along the same episodes.
    """
    environment, status = problem.environment, problem.scheme.status
    every = replace(problem, memory=Product((problem.memory, *memories)))

    def look(decision: RandomDecision) -> Any:
        before, after = decision.before, decision.after
        seen = before.seen._replace(memory=before.memory[0])
        attributes = observed(problem, before.state, seen)
        return (
            decision.step.rewards,
            decision.reward,
            status.value(after.scheme_state.status),
            environment.is_over(before.state),
            tuple(attribute.values for attribute in attributes),
            tuple(_try(every, memory, k, decision) for k, memory in enumerate(memories, start=1)),
        )

    found = RandomPlay(*along_random_episodes(every, look, RANDOM_EPISODES))
    for episode, time, i in np.argwhere(~np.isfinite(found.received) & ~found.over[..., None])[:1]:
        raise NotFinite(
            f"the environment gave stakeholder {i} a reward of {found.received[episode, time, i]:g}"
            f" at step {time + 1} of a random episode: rewards must be finite numbers."
        )
    for episode, time in np.argwhere(~np.isfinite(found.pay) & ~found.over)[:1]:
        where = f" after step {time + 1} of a random episode"
        require_reward(problem, found.pay[episode, time], found.status[episode, time], where)
    return found


def _try(problem: Problem, memory: Memory, k: int, decision: RandomDecision) -> MemoryTrial:
    environment = problem.environment
    before, after, step = decision.before, decision.after, decision.step
    claim = memory.implied_status(after.memory[k])
    claimed = jnp.full((), jnp.nan)
    if claim is not None:
        over = environment.is_over(after.state)
        claimed = problem.pay.step_reward(before.scheme_state, claim, step, over)[1]
    other = memory.imagined(
        before.memory[k], jax.tree.map(_changed, memory.imaginable(before.memory[k]))
    )
    pairs = zip(
        jax.tree.leaves(memory.update(other, step)), jax.tree.leaves(after.memory[k]), strict=True
    )
    differ = [jnp.any(imagined != real) for imagined, real in pairs]
    attributes = memory.attributes(
        before.memory[k], environment.horizon, environment.num_stakeholders
    )
    return MemoryTrial(
        claimed,
        jnp.any(jnp.stack(differ)) if differ else jnp.zeros((), dtype=bool),
        tuple(attribute.values for attribute in attributes),
    )


def _changed(leaf: Array) -> Array:
    """Another value of the same kind, which differs by another number at every place."""
    offsets = 1 + jnp.arange(leaf.size).reshape(leaf.shape)
    return ~leaf if leaf.dtype == bool else leaf + offsets.astype(leaf.dtype)


# A memory that determines the reward, found by trying: the smallest of those that are known.
#
# Whether a memory does is compared with the true status along random episodes; so it is found for
# any environment and scheme, with no list of either.


class FoundMemory(NamedTuple):
    """A problem with the memory that was found for it, and what random play shows of it."""

    problem: Problem
    play: RandomPlay
    determines: bool  # whether the memory determines the reward
    looks_back: bool  # whether it depends on what it was before, so that it can be imagined


def find_memory(problem: Problem, *, clock: bool, keep: bool = False) -> FoundMemory:
    """The problem with the smallest memory known that determines the reward; else with Full.

    Args:
        problem: An environment and a scheme.
        clock: Whether the number of steps is remembered too.
        keep: Whether to see the problem's own memory rather than to find one.
    """
    memories = (problem.memory,) if keep else tuple(_candidates(problem))
    ticks = Clock(problem.environment.horizon + 1)
    # Full is what is left where none of them determines the reward.
    start = replace(problem, memory=memories[0] if keep else Full())
    play = random_play(start, (*memories, ticks))
    fits = [k for k in range(len(memories)) if _claims(problem, memories[k]) and play.determines(k)]
    chosen = next(iter(fits), 0 if keep else memories.index(Full()))
    parts = (memories[chosen], ticks) if clock else (memories[chosen],)
    seen = replace(problem, memory=Product(parts) if clock else parts[0])
    shown = _seen_with(play, start, (chosen, len(memories)) if clock else (chosen,))
    return FoundMemory(seen, shown, bool(fits), play.looks_back(chosen))


def _candidates(problem: Problem) -> Iterator[Memory]:
    """From the smallest on. What the status itself carries determines it always."""
    status = problem.scheme.status
    known = getattr(problem.environment, "planning_memory", lambda: None)()
    if known is not None:
        yield known
    groups = getattr(status, "groups", None)
    if groups is not None:
        yield from (one for one in (GroupDifference(groups), GroupFull(groups)) if one != known)
    yield from (one for one in (Min(), Full(), OfStatus(status)) if one != known)


def _claims(problem: Problem, memory: Memory) -> bool:
    """Whether it claims a status of the right size."""
    try:
        require_claim(replace(problem, memory=memory))
    except EvenhandError:
        return False
    return True


def _seen_with(play: RandomPlay, start: Problem, chosen: tuple[int, ...]) -> RandomPlay:
    """The play as it is seen with other memories: their attributes in place of the first's."""
    size = start.environment.num_stakeholders
    own = len(start.memory.attributes(start.memory.init(size), start.environment.horizon, size))
    places = len(start.environment.attributes(start.environment.initial(jax.random.key(0))))
    instead = tuple(values for k in chosen for values in play.trials[k].observed)
    seen = (*play.observed[:places], *instead, *play.observed[places + own :])
    return play._replace(observed=seen)


# A learner for any problem: everything about it is derived from the problem and its random play.
#
# No environment is looked up by its type. What is derived, and from what:
#
# - the memory: the smallest known that determines the reward, and a clock where the horizon ends
# - the scale of rewards, statuses and observations: random play
# - the discount: 1 where the horizon is short, else less, and least where shaping helps
# - exploration, warm-up, the fall of the learning rate: shares of the steps that there are
# - the network: it treats alike whom environment, scheme and memory treat alike
# - shaping: wherever the scheme allows it
# - what each choice does at once, as features: where the environment says that this is certain

LONGEST_EPISODE = 256  # decisions: a longer horizon cuts episodes off rather than ends them
FEW_STEPS = 20  # an episode of at most so many is learned to its end, undiscounted
SHORT_VIEW, FAR_VIEW = 0.9, 0.99  # the discount of longer ones: with shaping, and without
WIDTHS = (64, 64)
FEWEST_STEPS = 10
DEFAULT_EPISODES, LEAST_DEFAULT = (
    1_000,
    30_000,
)  # learned from where nothing is said: whichever is more
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
    return max(DEFAULT_EPISODES * horizon, LEAST_DEFAULT)


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


# What a short random walk tells of an environment: units, scales, and whom an action serves.
#
# The defaults of a learner on the host come from here, and not from what kind of environment it is:
# with the same amounts in grams or in kilograms it is the same learner.

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


# The default learner on the host: everything follows from the problem and a short random walk.

LONGEST_CLOCK = 1000  # steps of an episode up to which the agent knows how many there were
FEWEST_SURVEYED, MOST_SURVEYED = 200, 2000  # random decisions
VISITS = 40  # of each action among them
SHORTEST_VIEW = 20.0  # steps that a reward is traced back over
LEARN_EVERY = 2  # decisions
LEAST_UNIT = 0.05  # of values at a moment, as a share of the usual one


def survey_steps(num_actions: int, steps: int) -> int:
    """How many random decisions come before those that are learned from: some of each action.

    Args:
        num_actions: How many actions there are.
        steps: How many decisions are made in all.
    """
    enough = min(MOST_SURVEYED, max(FEWEST_SURVEYED, VISITS * num_actions))
    return max(1, min(enough, steps // 5))


def default_memory(scheme: FairnessScheme, horizon: int) -> Memory:
    """What determines the reward: the totals, or whatever the status carries; and a clock.

    Args:
        scheme: What fair means.
        horizon: After how many decisions an episode is cut off.
    """
    known: Memory = Full() if scheme.status.is_sum else OfStatus(scheme.status)
    return known if horizon > LONGEST_CLOCK else Product((known, Clock(horizon + 1)))


def shapes_by_default(problem: Problem) -> bool:
    """Whether a step is rewarded by the welfare that it adds.

    Where the status is a sum: what was received stays received, so that a step is worth the
    welfare it adds for all steps to come. A status that moves by itself, such as a waiting time,
    loses tomorrow what it gained today: to reward the gain for all steps to come would be wrong by
    most of it, and the network would have to learn the correction.
    """
    sums = reward_like(problem.scheme).holds and problem.scheme.status.is_sum
    return sums and not problem.augment_with_score


def default_settings(
    problem: Problem, measured: Measurements, steps: int, shaping: bool | None = None
) -> dict[str, Any]:
    """The fields of `learn.DQN` for a problem on the host.

    Args:
        problem: What to learn, with the memory that the agent sees.
        measured: What a random walk showed.
        steps: How many decisions will be learned from: exploration falls by them.
        shaping: Whether to shape, where it is not for the problem to say.
    """
    horizon, size = problem.environment.horizon, problem.environment.num_stakeholders
    shaping = shapes_by_default(problem) if shaping is None else shaping
    view = min(float(horizon), max(SHORTEST_VIEW, 2.0 * size))
    left = view if shaping else 1.0  # steps for which a gain is rewarded
    informed = bool(measured.serves and measured.largest_gain)
    scale = 1.0 / (left * measured.largest_gain) if measured.largest_gain else 1.0 / measured.pay
    floor = LEAST_UNIT if shaping and measured.largest_gain else 0.0
    raw = Gains(measured.unit, measured.amount)
    updates = max(1, steps // LEARN_EVERY)
    return {
        "encoder": Measured(raw, measured.each, measured.common, scale * left, floor),
        "network": StakeholderNetwork((32, 32), measured.serves, view),
        "discount": 1.0 - 1.0 / view,
        "learning_rate": 1e-3,
        "halved_after": max(1, updates // 10),
        "batch": 64,
        "capacity": min(50_000, max(1000, steps)),
        "warm_up": max(50, min(500, steps // 20)),
        "exploration": ExplorationBySteps(max(1, steps // 4), 0.5 if informed else 1.0, 0.02),
        "target": PolyakUpdate(0.005),
        "double": True,
        "horizon_terminates": True,
        "shaping": shaping,
        "scale": scale,
        "lookahead": 3,
    }
