"""Deep Q-learning with imagined memories, and its recurrent form, which remembers for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand.errors import BadParameter
from evenhand.fairness.trace import Override, Step
from evenhand.learn.deep import replay_buffer as replay
from evenhand.learn.deep.agent import AgentState, DecisionRecord, DeepAgent, of_action
from evenhand.learn.deep.networks import Recurrent
from evenhand.learn.deep.replay_buffer import Replay
from evenhand.learn.imagined_memories import NoProposal, PastStep, Proposal, imagine_memories
from evenhand.problem.problem import AgentView, AugmentedState
from evenhand.problem.reward import choose

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


# Section 5.2: deep FairQCM. With no proposal it is DQN, and nothing else differs.

RECALLED = 1_000  # steps of the past that proposals may recall
IMAGINING = 0x1A6E  # which stream of randomness proposals draw from


class Experience(NamedTuple):
    """All that an update needs: ⟨s, m⟩, a, the reward, ⟨s', m'⟩, and what that is worth."""

    features: Float[Array, " feature"]
    action: Int[Array, ""]
    reward: Float[Array, ""]
    bootstrap: Float[Array, ""]  # the discount of what follows; 0 where the episode terminated
    following: Float[Array, " feature"]
    ahead: Float[Array, ""]  # the target network's value of what follows, where it is stored


class Pending(NamedTuple):
    """Experiences that have begun and still gather rewards: [begun, real or imagined]."""

    features: Float[Array, "begun memory feature"]
    action: Int[Array, " begun"]
    reward: Float[Array, "begun memory"]
    memory: Any
    scheme_state: Any
    exist: Bool[Array, "begun memory"]
    age: Int[Array, " begun"]  # steps so far; −1 where nothing has begun


@dataclass(frozen=True, kw_only=True)
class DQN(DeepAgent):
    """Deep Q-learning that imagines the memories of its proposal: FairQCM, or DQN with none.

    An imagined experience has the state, action and next state that happened; μ and the reward are
    asked again for the imagined memory.

    Args:
        proposal: Which memories to imagine at each step; none by default.
        lookahead: Over how many steps an experience gathers rewards.
        baseline: What is taken from the reward of each step of an episode, by its number, so that
            values are of what differs between states and not of what all have in common. The best
            action stays the best. For horizons that terminate.

    The others are those of `DeepAgent`.
    """

    proposal: Proposal = NoProposal()
    lookahead: int = 1
    baseline: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lookahead < 1:
            raise BadParameter(f"lookahead is {self.lookahead}: it must be at least 1.")
        if self.baseline and not (
            self.horizon_terminates and len(self.baseline) == self.problem.environment.horizon
        ):
            raise BadParameter(
                f"baseline has {len(self.baseline)} numbers: give one for each of the "
                f"{self.problem.environment.horizon} steps, of a horizon that terminates."
            )
        if jax.tree.leaves(self.network.start()):
            raise BadParameter(
                f"{type(self.network).__name__} carries something from step to step: use "
                "RecurrentDQN for it, or a network such as MLP."
            )
        if not self.imagines:
            return
        self.proposal.require_near(self.problem.memory, self.problem.environment.num_stakeholders)
        self.problem.require_memory_pays()

    @property
    def imagines(self) -> bool:
        return self.proposal.imagines

    @property
    def _stores_ahead(self) -> bool:
        """Whether the target network changes so seldom that its values are stored with the items.

        They are worked out once when an item is stored and again when the target is renewed,
        instead of every time that the item is drawn.
        """
        return self.target.copies_rarely and not self.double

    def empty_replay(self) -> tuple[Replay, Any]:
        key = jax.random.key(0)
        first = self.problem.initial(key)
        pending = jax.tree.map(
            lambda leaf: jnp.zeros((self.lookahead, *leaf.shape), leaf.dtype),
            self._begin(first, key, self._empty_past(first)),
        )
        pending = pending._replace(age=jnp.full(self.lookahead, -1, dtype=jnp.int32))
        number, blank = jnp.zeros(()), jnp.zeros(self.layout.size)
        action = jnp.zeros((), dtype=jnp.int32)
        item = Experience(blank, action, number, number, blank, number)
        return replay.init(item, self.capacity), pending

    def begin(
        self, key: PRNGKeyArray, weights_key: PRNGKeyArray, first: AugmentedState
    ) -> AgentState:
        learner = super().begin(key, weights_key, first)
        return learner._replace(past=self._empty_past(first))

    def _empty_past(self, first: AugmentedState) -> Any:
        """Room for the last steps, where the proposal recalls any."""
        if not self.proposal.num_recalled:
            return ()
        env = self.problem.environment
        none = Override(jnp.zeros((), dtype=bool), jnp.zeros(())) if env.may_override else None
        action, rewards = jnp.zeros((), dtype=jnp.int32), jnp.zeros(env.num_stakeholders)
        step = Step(action, rewards, first.state, none)
        item = PastStep(self.problem.memory.imaginable(first.memory), step)
        return replay.init(item, RECALLED)

    def _recall(
        self, key: PRNGKeyArray, past: Any
    ) -> tuple[PastStep | None, Bool[Array, " recalled"]]:
        """Steps of the past, drawn with replacement; and whether there are any."""
        number = self.proposal.num_recalled
        if not number:
            return None, jnp.zeros(0, dtype=bool)
        drawn = replay.sample(past, jax.random.fold_in(key, 1), number)
        return drawn, jnp.broadcast_to(past.stored > 0, (number,))

    def _remembering(self, past: Any, happened: DecisionRecord) -> Any:
        """The past with this step in it."""
        if not self.proposal.num_recalled:
            return past
        part = self.problem.memory.imaginable(happened.before.memory)
        item = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], PastStep(part, happened.step))
        return replay.add(past, item, jnp.ones(1, dtype=bool))

    def _begin(self, augmented: Any, key: PRNGKeyArray, past: Any) -> Pending:
        """An experience that begins here, with the memories imagined beside the real one."""
        memory, exist = jax.tree.map(lambda leaf: leaf[None], augmented.memory), jnp.ones(1, bool)
        if self.imagines:
            imagined, there = imagine_memories(
                self.proposal, self.problem.memory, key, augmented.memory, *self._recall(key, past)
            )
            memory = jax.tree.map(lambda *both: jnp.concatenate(both), memory, imagined)
            exist = jnp.concatenate((exist, there))
        scheme_state = jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (exist.shape[0], *leaf.shape)),
            augmented.scheme_state,
        )
        features = jax.vmap(self._encode_at, in_axes=(None, 0, 0))(
            augmented.state, memory, scheme_state
        )
        zero = jnp.zeros((), dtype=jnp.int32)
        return Pending(features, zero, jnp.zeros(exist.shape), memory, scheme_state, exist, zero)

    def _encode_at(self, state: Any, memory: Any, scheme_state: Any) -> Float[Array, " feature"]:
        return self.encoder(
            self.problem, state, AgentView(memory, scheme_state.filter, scheme_state.fold)
        )

    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        """Begin an experience, real and imagined; go on with those begun; store those complete."""
        # Of its own: far from the numbers by which a step's other randomness is split off.
        key = jax.random.fold_in(learner.key, IMAGINING)
        fresh = self._begin(happened.before, key, learner.past)
        fresh = fresh._replace(action=happened.step.action)
        slot = jnp.arange(self.lookahead) == happened.time % self.lookahead
        pending = jax.tree.map(
            lambda new, old: jnp.where(slot.reshape(-1, *(1,) * (old.ndim - 1)), new, old),
            fresh,
            learner.pending,
        )
        pending = jax.vmap(self._go_on, in_axes=(0, None))(pending, happened)
        complete = (pending.age == self.lookahead) | (happened.is_over & (pending.age != -1))
        items = jax.vmap(self._complete, in_axes=(0, None, None))(pending, happened, learner)
        exist = (pending.exist & complete[:, None]).ravel()
        items = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), items)
        age = jnp.where(complete, -1, pending.age)
        return learner._replace(
            replay=replay.add(learner.replay, items, exist),
            pending=pending._replace(age=age),
            past=self._remembering(learner.past, happened),
        )

    def _go_on(self, pending: Pending, happened: DecisionRecord) -> Pending:
        """Add the reward of a step to an experience, real and imagined; update its memories."""
        real = happened.after.memory, happened.after.scheme_state, happened.pay

        def one(
            memory: Any, scheme_state: Any, imagined: Bool[Array, ""]
        ) -> tuple[Any, Any, Array]:
            after = real
            if self.imagines:
                after = self.problem.imagine(memory, scheme_state, happened.step, happened.is_over)
                after = choose(imagined, after, real)
            pay = after[2]
            if self.shaping:
                pay = pay + self._shaping((memory, scheme_state), after[:2], imagined, happened)
            if self.baseline:
                pay = pay - jnp.asarray(self.baseline)[happened.time]
            return *after[:2], self.scale * pay

        imagined = jnp.arange(pending.exist.shape[0]) > 0
        memory, scheme_state, pay = jax.vmap(one)(pending.memory, pending.scheme_state, imagined)
        reward = pending.reward + self.discount**pending.age * pay
        age = jnp.where(pending.age >= 0, pending.age + 1, -1)
        return pending._replace(memory=memory, scheme_state=scheme_state, reward=reward, age=age)

    def _shaping(
        self, before: Any, after: Any, imagined: Bool[Array, ""], happened: DecisionRecord
    ) -> Float[Array, ""]:
        """γΦ(x') − Φ(x): see `learn.shaping`."""
        now, then = (
            self._welfare(memory, scheme_state, imagined)
            for memory, scheme_state in (before, after)
        )
        return self.shaping_of(now, then, happened)

    def _welfare(
        self, memory: Any, scheme_state: Any, imagined: Bool[Array, ""]
    ) -> Float[Array, ""]:
        """W(U): by the scheme state for the real one, by the memory's claim for imagined ones."""
        vector = self.problem.scheme.status.value(scheme_state.status)
        if self.imagines:
            vector = jnp.where(imagined, self._claim(memory), vector)
        return self.problem.welfare(vector)

    def _claim(self, memory: Any) -> Float[Array, " status"]:
        claim = self.problem.memory.implied_status(memory)
        assert claim is not None  # checked when the agent was made
        return claim

    def _complete(
        self, pending: Pending, happened: DecisionRecord, learner: AgentState
    ) -> Experience:
        """What is stored of an experience, for its real and its imagined memories."""
        encode = jax.vmap(self._encode_at, in_axes=(None, 0, 0))
        following = encode(happened.after.state, pending.memory, pending.scheme_state)
        bootstrap = jnp.where(happened.terminated, 0.0, self.discount**pending.age)
        shape = pending.reward.shape
        ahead = jnp.zeros(shape)
        if self._stores_ahead:
            ahead = jnp.max(self._values(learner.target, following), axis=1)
        return Experience(
            pending.features,
            jnp.broadcast_to(pending.action, shape),
            pending.reward,
            jnp.broadcast_to(bootstrap, shape),
            following,
            ahead,
        )

    def renew(self, learner: AgentState) -> AgentState:
        learner = super().renew(learner)
        if not self._stores_ahead:
            return learner
        items = learner.replay.items
        ahead = jnp.max(self._values(learner.target, items.following), axis=1)
        kept = learner.replay._replace(items=items._replace(ahead=ahead))
        return learner._replace(replay=kept)

    def draw(self, learner: AgentState, key: PRNGKeyArray) -> Experience:
        return replay.sample(learner.replay, key, self.batch)

    def loss_of(self, weights: Any, learner: AgentState, batch: Experience) -> Float[Array, ""]:
        ahead = batch.ahead if self._stores_ahead else self._ahead(learner, batch.following)
        goal = batch.reward + batch.bootstrap * ahead
        value = of_action(self._values(weights, batch.features), batch.action)
        unit = jax.vmap(lambda one: self.network.unit(weights, one))(batch.features)
        return jnp.mean(self.loss((value - goal) / unit))

    def _ahead(self, learner: AgentState, following: Array) -> Float[Array, " item"]:
        """What follows is worth, to the target network; double: of the network's own choice."""
        values = self._values(learner.target, following)
        if not self.double:
            return jnp.max(values, axis=1)
        chosen = jnp.argmax(self._values(learner.weights, following), axis=1)
        return of_action(values, chosen)

    def _values(self, weights: Any, features: Array) -> Float[Array, "item action"]:
        return jax.vmap(lambda one: self.network.apply(weights, (), one)[1])(features)


# Section 6 (baseline RNN): no engineered memory; a recurrent network learns what to remember.


class Moment(NamedTuple):
    """One step of a stored history; the next in the buffer is the next in time."""

    features: Float[Array, " feature"]
    carry: Float[Array, " width"]  # what acting carried into the step
    first: Bool[Array, ""]  # whether an episode begins here
    action: Int[Array, ""]
    reward: Float[Array, ""]
    bootstrap: Float[Array, ""]
    following: Float[Array, " feature"]


@dataclass(frozen=True, kw_only=True)
class RecurrentDQN(DeepAgent):
    """Deep Q-learning on stored sequences, of which the first `burn_in` steps only warm up.

    A sequence starts with what acting carried into it, and goes through its burn-in with the
    weights of now before any error counts. A batch is as many sequences of `length` as fill it.
    """

    network: Recurrent
    length: int = 16
    burn_in: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.network, Recurrent):
            raise BadParameter(f"{type(self.network).__name__} carries nothing: use Recurrent.")
        if self.length < 1 or self.burn_in < 0:
            raise BadParameter(
                f"length is {self.length} and burn_in {self.burn_in}: at least 1 and 0 are needed."
            )
        stored = self.capacity if self.warm_up is None else min(self.capacity, self.warm_up)
        if stored < self.window:
            raise BadParameter(
                f"sequences of {self.window} steps do not fit into {stored} stored ones: "
                "raise capacity and warm_up, or shorten length and burn_in."
            )

    @property
    def window(self) -> int:
        return self.burn_in + self.length

    def empty_replay(self) -> tuple[Replay, Any]:
        number, blank = jnp.zeros(()), jnp.zeros(self.layout.size)
        action, first = jnp.zeros((), dtype=jnp.int32), jnp.zeros((), dtype=bool)
        moment = Moment(blank, self.network.start(), first, action, number, number, blank)
        return replay.init(moment, self.capacity), ()

    def store(self, learner: AgentState, happened: DecisionRecord) -> AgentState:
        before, after = happened.before, happened.after
        pay = happened.pay
        if self.shaping:
            now, then = (
                self.problem.welfare(self.problem.scheme.status.value(at.scheme_state.status))
                for at in (before, after)
            )
            pay = pay + self.shaping_of(now, then, happened)
        moment = Moment(
            self.encode(before),
            happened.carry,
            happened.time == 0,
            happened.step.action,
            self.scale * pay,
            jnp.where(happened.terminated, 0.0, self.discount),
            self.encode(after),
        )
        item = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], moment)
        stored = replay.add(learner.replay, item, jnp.ones(1, dtype=bool))
        return learner._replace(replay=stored)

    def draw(self, learner: AgentState, key: PRNGKeyArray) -> Moment:
        """Sequences that lie anywhere in the buffer, on a leading axis of sequences."""
        number = max(1, self.batch // self.length)
        return replay.sample_sequences(learner.replay, key, number, self.window)

    def loss_of(self, weights: Any, learner: AgentState, batch: Moment) -> Float[Array, ""]:
        return jnp.mean(jax.vmap(lambda one: self._loss_of_one(weights, learner, one))(batch))

    def _loss_of_one(self, weights: Any, learner: AgentState, moments: Moment) -> Float[Array, ""]:
        start, cut = moments.carry[0], self.burn_in
        warm = jax.tree.map(lambda leaf: leaf[:cut], moments)
        counted = jax.tree.map(lambda leaf: leaf[cut:], moments)
        unroll, values = self.network.unroll, self.network.values
        carries = []
        for each in (weights, learner.target):
            carry = start
            if cut:
                carry = unroll(each, carry, warm.features, warm.first)[-1]
            carry = jax.lax.stop_gradient(carry)
            carries.append(unroll(each, carry, counted.features, counted.first))
        value = of_action(values(weights, carries[0]), counted.action)
        ahead = self._following(learner.target, carries[1], counted.following)
        if self.double:
            own = self._following(learner.weights, carries[0], counted.following)
            best = of_action(ahead, jnp.argmax(own, axis=1))
        else:
            best = jnp.max(ahead, axis=1)
        goal = jax.lax.stop_gradient(counted.reward + counted.bootstrap * best)
        return jnp.mean(self.loss(value - goal))

    def _following(
        self, weights: Any, carries: Array, features: Array
    ) -> Float[Array, "time action"]:
        """The values one step on: of what followed each step, with the carry of after it."""
        return jax.vmap(lambda carry, x: self.network.apply(weights, carry, x)[1])(
            carries, features
        )
