"""FairQCM by its name: Algorithm 1 on tables, and its deep form on networks (section 5.2)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.checks import require_kind, require_whole
from evenhand.errors import BadParameter
from evenhand.learn.deep.agent import DeepAgent, PolyakUpdate
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Encoder, Relative
from evenhand.learn.deep.networks import Network
from evenhand.learn.imagined_memories import Above, Proposal
from evenhand.learn.policies import Greedy
from evenhand.learn.policy_files import save_policies
from evenhand.learn.recipe import default_learner
from evenhand.learn.schedules import seed_keys, start_learners
from evenhand.learn.tabular.q_learning import GreedyTable, Tabular
from evenhand.problem.problem import AugmentedState, Problem, require_problem

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
        require_problem(problem)
        require_kind(proposal, Proposal, "proposal", "Above(2)")
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

    @classmethod
    def derived(cls, problem: Problem, steps: int, **settings: Any) -> FairQCM:
        """One with a network whose every setting is derived from the problem.

        Args:
            problem: What to learn: an environment and a scheme.
            steps: How many decisions it will take: exploration and learning rate fall by them.
            **settings: As of `learn.default_recipe.default_learner`.
        """
        made = cls.__new__(cls)
        made.agent = default_learner(problem, steps=steps, **settings)
        return made

    def train(
        self,
        steps: int,
        seed: int | Sequence[int] = 0,
        *,
        start: Learned | None = None,
        every: int | None = None,
        on_checkpoint: OnCheckpoint | None = None,
    ) -> Learned:
        """Learn for so many steps of the environment.

        Args:
            steps: How many decisions each learner takes.
            seed: A random seed, or several: one learner each, side by side.
            start: What another agent learned, with a network of the same form or in a table of the
                same size: each seed begins with what the same seed learned there, or with what the
                first did. Default: nothing is known.
            every: After how many steps `on_checkpoint` is called; at the end by default.
            on_checkpoint: See `Learned.train`.
        """
        seeds = (seed,) if isinstance(seed, int) else tuple(seed)
        if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
            raise BadParameter(f"seed is {seed!r}: give a number from 0, or several, none twice.")
        learners = start_learners(self.agent, seed_keys(seeds))
        if start is not None:
            learners = _started_from(self.agent, learners, start, seeds)
        begun = Learned(self.agent, seeds, 0, learners)
        return begun.train(steps, every=every, on_checkpoint=on_checkpoint)


@dataclass(frozen=True, eq=False)
class Learned:
    """What an agent learned with each seed, after so many steps."""

    agent: Tabular | DQN
    seeds: tuple[int, ...]
    steps: int
    learners: Any  # a TabularState or AgentState, with a leading axis of seeds

    def __repr__(self) -> str:
        seeds = ", ".join(map(str, self.seeds))
        agent = type(self.agent).__name__
        return f"<{type(self).__name__} by {agent}, {self.steps:,} steps, seeds {seeds}>"

    def train(
        self, steps: int, *, every: int | None = None, on_checkpoint: OnCheckpoint | None = None
    ) -> Learned:
        """The same learners, so many steps further; these stay as they are.

        Args:
            steps: How many decisions each learner takes.
            every: After how many steps `on_checkpoint` is called; at the end by default. Tables
                draw random numbers for that many steps at once, so that others are drawn.
            on_checkpoint: Called with what was learned so far, to look at, to save or to plot. If
                it returns True, learning ends there.
        """
        for name, number in (("steps", steps), ("every", steps if every is None else every)):
            require_whole(number, name)
        now, last = self, self.steps + int(steps)
        while now.steps < last:
            now = now._further(min(int(every or steps), last - now.steps))
            if on_checkpoint is not None and on_checkpoint(now) is True:
                break
        return now

    def _further(self, steps: int) -> Learned:
        # Copied: training takes over the arrays that it is given.
        learners = self.agent.train_steps(jax.tree.map(jnp.copy, self.learners), steps)
        return Learned(self.agent, self.seeds, self.steps + steps, learners)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policies of all seeds to a file, as `evenhand train` does.

        `evenhand evaluate`, `replay` and `serve` read it, and so does `load_policies`. For networks
        alone: to save a table, plan the problem or learn it with `evenhand train`.
        """
        if not isinstance(self.agent, DeepAgent):
            raise BadParameter(
                "a table is not saved: give FairQCM a network, or use FairQCM.derived."
            )
        about = {"spec": {"seeds": list(self.seeds), "steps": self.steps}}
        save_policies(path, self.agent, self.agent.acting(self.learners), about)

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


OnCheckpoint = Callable[[Learned], Any]


def _started_from(
    agent: Tabular | DQN, learners: Any, start: Learned, seeds: tuple[int, ...]
) -> Any:
    """The learners with what was learned before in place of nothing."""
    what = "weights" if isinstance(agent, DeepAgent) else "q"
    places = np.asarray([start.seeds.index(s) if s in start.seeds else 0 for s in seeds])
    before, blank = getattr(start.learners, what, None), getattr(learners, what)
    known = jax.tree.map(lambda leaf: jnp.asarray(leaf)[places], before)
    if jax.tree.map(jnp.shape, known) != jax.tree.map(jnp.shape, blank):
        raise BadParameter(
            "start was learned with another network, memory or number of stakeholders, or in a "
            "table where this is a network: use the same, or leave start out."
        )
    if isinstance(agent, DeepAgent):
        return agent.started_from(learners, known)
    return learners._replace(q=known)
