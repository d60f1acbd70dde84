"""Learned policies: greedy ones, and ones for any number of stakeholders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand._util.files import in_bytes
from evenhand._util.wording import short_repr
from evenhand.envs.environment import Environment
from evenhand.errors import BadParameter, EvenhandError, TooLarge
from evenhand.learn.deep.encoders import Encoder, Layout
from evenhand.learn.deep.networks import Network
from evenhand.memory.memory import Clock, Memory, Product
from evenhand.problem.problem import AgentView, AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


# Learned once, used for any number: a policy for more or fewer stakeholders than it learned with.
#
# A network that treats stakeholders alike has the same weights however many there are, so that what
# it learned with five decides for fifty. Whether it does so well is for a score to say.


class UsableFor(NamedTuple):
    """Whether a policy can be used for any number of stakeholders, and if not, why."""

    any_number: bool
    reason: str

    def to_json(self, learned_with: int) -> dict[str, Any]:
        return {"learned_with": learned_with, "any_number": self.any_number, "reason": self.reason}


def problem_for(
    problem: Problem, num_stakeholders: int | None = None, horizon: int | None = None
) -> Problem:
    """The same problem with another number of stakeholders, or of decisions.

    A clock that counted to the old horizon counts to the new one, and is seen as if it still
    counted to the old: what a policy sees is how much of the episode is over.

    Args:
        problem: The problem that a policy was learned in.
        num_stakeholders: How many there are to be; as many as there are by default.
        horizon: How many decisions an episode is to have; as many as it has by default.
    """
    environment = problem.environment
    if not isinstance(environment, Environment):
        raise BadParameter(
            f"{type(environment).__name__} runs on the host, and cannot be built for another "
            "number of stakeholders: build the problem, and give it to for_problem."
        )
    other = environment.resized(num_stakeholders, horizon)
    scheme = problem.scheme
    if scheme == environment.default_scheme():
        scheme = other.default_scheme()
    elif len(set(scheme.exchangeable(other.num_stakeholders))) > 1:
        raise BadParameter(
            "the scheme does not treat all stakeholders alike, and does not say how it would treat "
            "others: build the problem, and give it to for_problem."
        )
    memory = _with_horizon(problem.memory, environment.horizon, other.horizon)
    built = replace(problem, environment=other, scheme=scheme, memory=memory)
    # What has one number each of five, such as entitlements, says so when it begins.
    built.pay.init(other.num_stakeholders)
    built.memory.init(other.num_stakeholders)
    return built


def _with_horizon(memory: Memory, old: int, new: int) -> Memory:
    if isinstance(memory, Product):
        return Product(tuple(_with_horizon(part, old, new) for part in memory.parts))
    if isinstance(memory, Clock) and memory.period == old + 1 and new != old:
        return Clock(new + 1, memory.period if memory.shown_as is None else memory.shown_as)
    return memory


def weights_for(
    network: Network, encoder: Encoder, weights: Any, learned: Problem, problem: Problem
) -> Any:
    """The weights of a policy as weights for another problem; refuses those that cannot be.

    Args:
        network: What they are weights of.
        encoder: How the network sees states and memories.
        weights: The weights, with any leading axes.
        learned: The problem that they were learned in.
        problem: The problem that they are to be used in.
    """
    before, after = (_form(network, encoder, one) for one in (learned, problem))
    if before.layout[1:] != after.layout[1:]:
        raise BadParameter(
            f"this policy sees {_seen(before.layout)}, and of this problem it would see "
            f"{_seen(after.layout)}: it can only be used where it sees as much."
        )
    sizes = [[leaf.shape for leaf in jax.tree.leaves(one.weights)] for one in (before, after)]
    if sizes[0] != sizes[1]:
        raise BadParameter(
            f"{type(network).__name__} has weights of its own for each of the "
            f"{learned.environment.num_stakeholders} stakeholders it learned with, and none for "
            f"{problem.environment.num_stakeholders}: learn with EquivariantMLP, which treats "
            "them alike, or learn for this number."
        )
    return jax.tree.unflatten(jax.tree.structure(after.weights), jax.tree.leaves(weights))


class _Form(NamedTuple):
    layout: Layout
    weights: Any  # in shapes alone


def _form(network: Network, encoder: Encoder, problem: Problem) -> _Form:
    network.require_alike(problem.environment.num_stakeholders)
    layout, actions = encoder.layout(problem), problem.environment.num_actions
    key = jax.random.key(0)
    return _Form(layout, jax.eval_shape(lambda key: network.init(key, layout, actions), key))


def _seen(layout: Layout) -> str:
    return f"{layout.each} numbers of each stakeholder and {layout.common} of the whole"


def usable_for(problem: Problem, network: Network, encoder: Encoder, weights: Any) -> UsableFor:
    """Whether a policy can be used for any number of stakeholders: one more is tried."""
    number = problem.environment.num_stakeholders
    try:
        other = problem_for(problem, number + 1)
        weights_for(network, encoder, weights, problem, other)
    except EvenhandError as error:
        return UsableFor(False, str(error))
    return UsableFor(True, "the network treats all stakeholders alike")


# A learned policy on its own: greedy for the values of a network, and what it scores.


class GreedyScore(NamedTuple):
    """What greedy episodes come to: one of them, or the mean over many."""

    score: Float[Array, ""]
    kept: Float[Array, ""]  # steps that the environment did not override
    achieved: Float[Array, ""]  # share of episodes that reached what is asked besides fairness


@dataclass(frozen=True, eq=False)
class Greedy:
    """The policy that takes the action of highest value, the first of them if there are several."""

    problem: Problem
    encoder: Encoder
    network: Network
    weights: Any

    def for_problem(self, problem: Problem) -> Greedy:
        """The same policy in another problem: with another number of stakeholders, say.

        Refused where the network has weights of its own for each stakeholder, or would see
        another number of features.

        Args:
            problem: Like the one that it was learned in, for more, fewer or other stakeholders.
        """
        weights = weights_for(self.network, self.encoder, self.weights, self.problem, problem)
        return replace(self, problem=problem, weights=weights)

    def for_stakeholders(self, num_stakeholders: int, horizon: int | None = None) -> Greedy:
        """The same policy for another number of stakeholders, all like those it learned with.

        Args:
            num_stakeholders: How many there are to be.
            horizon: How many decisions an episode is to have; as many as it had by default.
        """
        return self.for_problem(problem_for(self.problem, num_stakeholders, horizon))

    def start(self) -> Any:
        """What it carries into an episode: nothing, unless the network is recurrent."""
        return self.network.start()

    def act(self, key: PRNGKeyArray, state: Any, memory: Any) -> Int[Array, ""]:
        """The action, for problems in which state and memory are all that is seen."""
        if jax.tree.leaves(self.network.start()):
            raise BadParameter(
                "a recurrent policy carries something from step to step: use `decide`."
            )
        scheme_state = self.problem.pay.init(self.problem.environment.num_stakeholders)
        if jax.tree.leaves((scheme_state.filter, scheme_state.fold)):
            raise BadParameter(
                "this policy also sees the scheme's counters or running score: use `decide`."
            )
        return self._look((), state, AgentView(memory, scheme_state.filter, scheme_state.fold))[1]

    def decide(self, carry: Any, augmented: AugmentedState) -> tuple[Any, Int[Array, ""]]:
        """The carry for the next decision, and the action."""
        return self._look(carry, augmented.state, augmented.seen)

    def values(self, carry: Any, augmented: AugmentedState) -> Float[Array, " action"]:
        """Why: the value of each action."""
        features = self.encoder(self.problem, augmented.state, augmented.seen)
        return self.network.apply(self.weights, carry, features)[1]

    def _look(self, carry: Any, state: Any, seen: AgentView) -> tuple[Any, Int[Array, ""]]:
        features = self.encoder(self.problem, state, seen)
        carry, values = self.network.apply(self.weights, carry, features)
        return carry, jnp.argmax(values)

    def episode(self, key: PRNGKeyArray) -> GreedyScore:
        """One episode. Its score is the sum of its rewards."""
        problem = self.problem
        keys = jax.random.split(key, problem.environment.horizon + 1)
        steps = keys[1:]
        found = problem.episode(
            lambda _, augmented, carry: self.decide(carry, augmented),
            self.network.start(),
            keys[0],
            (steps, steps),  # to be greedy takes no chance
        )
        reached = problem.environment.achieved(found.last.state.world).astype(jnp.float32)
        return GreedyScore(found.score(problem.discount), jnp.sum(found.kept), reached)

    def mean_episode(self, key: PRNGKeyArray, episodes: int) -> GreedyScore:
        """Means over that many independent episodes."""
        return jax.tree.map(jnp.mean, jax.vmap(self.episode)(jax.random.split(key, episodes)))


MOST_BYTES = 1 << 32  # that the random keys and rewards of episodes side by side may take
_BYTES_A_STEP = 32


def require_room(horizon: int, episodes: int) -> None:
    """Refuse more episodes side by side than there is room for, before there is none."""
    size = _BYTES_A_STEP * episodes * (horizon + 1)
    if size > MOST_BYTES:
        raise TooLarge(
            f"{episodes:,} episodes of {short_repr(horizon)} decisions would take {in_bytes(size)} "
            f"(the limit is {in_bytes(MOST_BYTES)}): ask for fewer episodes, or build the "
            "environment with a shorter horizon."
        )


def score_greedy(
    problem: Problem, encoder: Encoder, network: Network, weights: Any, key: Any, episodes: int
) -> GreedyScore:
    """Means over greedy episodes, for weights and keys with a leading axis of seeds."""
    require_room(problem.environment.horizon, episodes * len(key))
    return _score_greedy(problem, encoder, network, weights, key, episodes)


@partial(jax.jit, static_argnames=("problem", "encoder", "network", "episodes"))
def _score_greedy(
    problem: Problem, encoder: Encoder, network: Network, weights: Any, key: Any, episodes: int
) -> GreedyScore:
    one = lambda w, k: Greedy(problem, encoder, network, w).mean_episode(k, episodes)  # noqa: E731
    return jax.vmap(one)(weights, key)
