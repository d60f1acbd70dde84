"""A learned policy on its own: greedy for the values of a network, and what it scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp

from evenhand._util.files import in_bytes
from evenhand._util.wording import short_repr
from evenhand.errors import BadParameter, TooLarge
from evenhand.learn.deep.encoders import Encoder
from evenhand.learn.deep.networks import Network
from evenhand.learn.policies.any_number import problem_for, weights_for
from evenhand.problem.problem import AgentView, AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Array, Float, Int, PRNGKeyArray


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
