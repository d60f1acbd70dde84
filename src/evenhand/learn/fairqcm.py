"""FairQCM by its name: Algorithm 1 on tables, and its deep form on networks (section 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.errors import BadParameter
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Encoder, Relative
from evenhand.learn.deep.networks import Network
from evenhand.learn.deep.targets import PolyakUpdate
from evenhand.learn.policies.greedy_policy import Greedy
from evenhand.learn.proposals import Above, Proposal
from evenhand.learn.seeds import seed_keys, start_learners
from evenhand.learn.tabular.greedy_table import GreedyTable
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.problem.problem import AugmentedState, Problem

if TYPE_CHECKING:
    from jaxtyping import Float

EPISODES = 1000  # that a score is the mean of, where it is sampled

# Of networks. The paper's buffer holds few steps once each has dozens of imagined ones beside it.
DEEP_SETTINGS: Mapping[str, Any] = MappingProxyType(
    {
        "learning_rate": 1e-3,
        "batch": 128,
        "capacity": 50_000,
        "warm_up": 1000,
        "target": PolyakUpdate(0.005),
        "double": True,
    }
)


class FairQCM:
    """Fair Q-learning with counterfactual memories: learns from what happened, and from imagining.

    At each step the agent also learns what the same action would have brought, had the memory been
    another. With `NoProposal()` it imagines nothing and is Q-learning, or DQN.

    Args:
        problem: What to learn: an environment, a scheme, and a memory that determines the reward
            (checked: Full does for sums, Min does where only differences count).
        proposal: Which memories to imagine beside the real one. Default: the paper's, all memories
            in which each stakeholder has 1 or 2 more.
        network: A network for large problems, such as `MLP((64, 64))`. Default: a table, which is
            exact and for small problems.
        encoder: How the network sees states and memories. Default: `Relative()`.
        **settings: Any other field of `Tabular` (without a network) or of `DQN` (with one), such
            as `discount`, `exploration` or `shaping`. For networks the defaults are those of
            `DEEP_SETTINGS`.

    >>> from evenhand import Clock, Doughnuts, Full, Problem, Product
    >>> from evenhand.learn import Everything, FairQCM, Watkins
    >>> shop = Doughnuts(num_stakeholders=2, horizon=4, presence=0.8)
    >>> problem = Problem(shop, shop.default_scheme(), memory=Product((Full(), Clock(5))))
    >>> how = {"discount": 1.0, "horizon_terminates": True, "shaping": True, "rate": Watkins(0.6)}
    >>> learned = FairQCM(problem, proposal=Everything(), **how).train(steps=2_000, seed=[0, 1])
    >>> learned.scores.round(3).tolist()  # both are the exact optimum
    [5.641, 5.641]

    The policy of a seed takes an augmented state: the state, and what is remembered.

    >>> import jax
    >>> first = problem.initial(jax.random.key(0))
    >>> policy = learned.policy(seed=1)
    >>> carry, action = policy.decide(policy.start(), first)
    >>> len(learned.action_values(first, seed=1))  # one per action
    2
    """

    def __init__(
        self,
        problem: Problem,
        proposal: Proposal = Above(2),
        *,
        network: Network | None = None,
        encoder: Encoder | None = None,
        **settings: Any,
    ) -> None:
        self.agent: Tabular | DQN
        if network is not None:
            self.agent = DQN(
                problem=problem,
                proposal=proposal,
                network=network,
                encoder=Relative() if encoder is None else encoder,
                **{**DEEP_SETTINGS, **settings},
            )
        elif encoder is not None:
            raise BadParameter("encoder is for networks: give a network too, or leave it out.")
        else:
            self.agent = Tabular(problem, proposal, **settings)

    @property
    def problem(self) -> Problem:
        return self.agent.problem

    @property
    def proposal(self) -> Proposal:
        return self.agent.proposal

    def __repr__(self) -> str:
        return f"FairQCM({self.agent!r})"

    def train(self, steps: int, seed: int | Sequence[int] = 0) -> Learned:
        """Learn from nothing for so many steps of the environment.

        Args:
            steps: How many decisions each learner takes.
            seed: A random seed, or several: one learner each, side by side.
        """
        seeds = (seed,) if isinstance(seed, int) else tuple(seed)
        if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise BadParameter(f"seed is {seed!r}: give a number from 0, or several, none twice.")
        learners = start_learners(self.agent, seed_keys(seeds))
        return Learned(self.agent, seeds, 0, learners).train(steps)


@dataclass(frozen=True, eq=False)
class Learned:
    """What an agent learned with each seed, after so many steps."""

    agent: Tabular | DQN
    seeds: tuple[int, ...]
    steps: int
    learners: Any  # a TabularState or AgentState, with a leading axis of seeds

    def train(self, steps: int) -> Learned:
        """The same learners, so many steps further; these stay as they are."""
        if isinstance(steps, bool) or int(steps) != steps or steps < 1:
            raise BadParameter(f"steps is {steps!r}: it must be a whole number from 1.")
        # Copied: training takes over the arrays that it is given.
        learners = self.agent.train_steps(jax.tree.map(jnp.copy, self.learners), int(steps))
        return Learned(self.agent, self.seeds, self.steps + int(steps), learners)

    @cached_property
    def scores(self) -> Float[np.ndarray, " seed"]:
        """The score of each seed's greedy policy: exact for tables, else over 1,000 episodes."""
        return np.asarray(self.agent.evaluate(self.learners, EPISODES).score, dtype=float)

    @property
    def score(self) -> float:
        """The mean of the scores."""
        return float(self.scores.mean())

    def policy(self, seed: int | None = None) -> GreedyTable | Greedy:
        """The greedy policy of a seed; of the first by default."""
        return self.agent.policy(self._learner(seed))

    def action_values(
        self, augmented: AugmentedState, seed: int | None = None
    ) -> Float[np.ndarray, " action"]:
        """What each action is worth in an augmented state, to a policy without a past."""
        policy = self.policy(seed)
        return np.asarray(policy.values(policy.start(), augmented))

    def _learner(self, seed: int | None) -> Any:
        if seed is not None and seed not in self.seeds:
            raise BadParameter(
                f"there is no seed {seed}: it was trained with {', '.join(map(str, self.seeds))}."
            )
        place = 0 if seed is None else self.seeds.index(seed)
        return jax.tree.map(lambda leaf: leaf[place], self.learners)
