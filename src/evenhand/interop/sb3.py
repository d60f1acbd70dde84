"""Section 5.2 for Stable-Baselines3: a replay buffer that imagines other memories (FairQCM).

    model = DQN("MlpPolicy", env, replay_buffer_class=CounterfactualReplayBuffer,
                replay_buffer_kwargs={"fairness": fairness_of(env), "proposal": Above(2)})

`env` is in a `FairnessWrapper`, or is a vector environment of such. Experiences are stored as they
happened and imagined anew whenever they are drawn, all of a batch in one compiled call: an imagined
one has the state, action and next state that happened, with μ and the reward asked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from evenhand._util.checks import require_whole
from evenhand._util.registry import not_installed
from evenhand.errors import BadParameter, CannotCarry
from evenhand.interop.gymnasium.external import Fairness, StepContext
from evenhand.learn.imagined_memories import PastStep, Proposal, imagine_memories
from evenhand.problem.checks import require_same_reward
from evenhand.problem.problem import AgentView

try:
    from stable_baselines3.common.buffers import ReplayBuffer
    from stable_baselines3.common.type_aliases import ReplayBufferSamples
except ImportError:  # said when a buffer is made: our modules can be listed without it
    ReplayBuffer = object

if TYPE_CHECKING:
    from jaxtyping import Array, Float, UInt32

CHECKED = 500  # experiences whose reward is compared with what the memory claims


class CounterfactualReplayBuffer(ReplayBuffer):
    """Replay in which `imagined` of 1 + `imagined` experiences have a memory that was proposed.

    A batch is as large as it was asked for. Works with vector environments; saved with
    `save_replay_buffer`, loaded with `load_replay_buffer`.

    Args:
        *args: As SB3's `ReplayBuffer`; SB3 gives them.
        fairness: `fairness_of(env)` of the environment that is learned in.
        proposal: Which memories to imagine: `Above`, `Around`, or any with `near`.
        imagined: How many imagined experiences there are for each real one, on average.
        **kwargs: As SB3's `ReplayBuffer`.
    """

    def __init__(
        self, *args: Any, fairness: Fairness, proposal: Proposal, imagined: int = 4, **kwargs: Any
    ) -> None:
        if ReplayBuffer is object:
            raise not_installed("stable_baselines3")
        super().__init__(*args, **kwargs)
        if self.optimize_memory_usage:
            raise BadParameter(
                "optimize_memory_usage keeps no next observations, in which a memory is imagined: "
                "leave it out."
            )
        if not proposal.imagines:
            raise BadParameter(
                f"{type(proposal).__name__} imagines nothing: use Above or Around, or SB3's own "
                "buffer to imagine none."
            )
        problem = fairness.problem
        imagined = require_whole(imagined, "imagined")
        if not isinstance(self.observation_space, spaces.Box) or len(self.obs_shape) != 1:
            raise CannotCarry(
                "imagined memories take the place of the real one at the end of a flat "
                "observation, and this one is not flat: wrap the environment with "
                "join=FlatObservation()."
            )
        problem.require_memory_pays()
        proposal.require_near(problem.memory, problem.environment.num_stakeholders)
        self.fairness, self.proposal, self.imagined = fairness, proposal, imagined
        # A leaf of `StepContext` each: [place, env, …].
        self._contexts: list[np.ndarray] | None = None
        self._form: Any = None
        self._checked = 0

    def add(
        self,
        obs: np.ndarray,
        next_obs: np.ndarray,
        action: np.ndarray,
        reward: np.ndarray,
        done: np.ndarray,
        infos: list[dict[str, Any]],
    ) -> None:
        """Store what happened, with all that it takes to imagine it otherwise."""
        contexts = [_context_in(info) for info in infos]
        for one, paid in zip(contexts, reward, strict=True):
            if self._checked < CHECKED:
                self._require_memory_pays(one, float(paid))
        rows = [jax.tree.leaves(one) for one in contexts]
        if self._contexts is None:
            self._form = jax.tree.structure(contexts[0])
            room = self.buffer_size, self.n_envs
            self._contexts = [np.zeros((*room, *np.shape(leaf)), _type(leaf)) for leaf in rows[0]]
        for i, leaves in enumerate(rows):
            for stored, leaf in zip(self._contexts, leaves, strict=True):
                stored[self.pos, i] = leaf
        super().add(obs, next_obs, action, reward, done, infos)

    def _get_samples(self, batch_inds: np.ndarray, env: Any = None) -> ReplayBufferSamples:
        # SB3's own randomness, so that its seed decides this too.
        at = batch_inds, np.random.randint(0, high=self.n_envs, size=len(batch_inds))  # noqa: NPY002
        dice = np.random.randint(0, 2**32, size=(2, len(batch_inds)), dtype=np.uint32)  # noqa: NPY002
        obs, following = self.observations[at], self.next_observations[at]
        reward = self.rewards[at]
        if self._contexts is not None:
            leaves = [stored[at] for stored in self._contexts]
            recalled = self._recalled(len(batch_inds))
            past = [stored[recalled] for stored in self._contexts]
            changed, before, after, pay = (np.asarray(x) for x in self._imagine(leaves, past, dice))
            cut = obs.shape[-1] - self.fairness.size
            obs[changed, cut:], following[changed, cut:] = before[changed], after[changed]
            reward = np.where(changed, pay, reward)
        ended = self.dones[at] * (1 - self.timeouts[at])
        data = (
            self._normalize_obs(obs, env),
            self.actions[at],
            self._normalize_obs(following, env),
            ended.reshape(-1, 1),
            self._normalize_reward(reward.astype(np.float32).reshape(-1, 1), env),
        )
        return ReplayBufferSamples(*map(self.to_torch, data))

    @property
    def _imagine(self) -> Any:
        compiled = self.__dict__.get("_compiled")
        if compiled is None:
            compiled = self._compiled = jax.jit(jax.vmap(self._imagine_one))
        return lambda leaves, past, dice: compiled(leaves, past, *dice)

    def _recalled(self, batch: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the steps that the proposal recalls are, for each experience of a batch."""
        shape = batch, self.proposal.num_recalled
        stored = self.buffer_size if self.full else self.pos
        draw = np.random.randint
        return draw(0, high=max(stored, 1), size=shape), draw(0, high=self.n_envs, size=shape)

    def _imagine_one(
        self, leaves: list[Array], past: list[Array], which: UInt32[Array, ""], how: Any
    ) -> Any:
        """Equation 2 for one experience: if it is imagined, ⟨m⟩ and ⟨m'⟩ as shown, its reward."""
        problem, context = self.fairness.problem, jax.tree.unflatten(self._form, leaves)
        real, memory = context.memory, problem.memory
        recalled, number = jax.tree.unflatten(self._form, past), self.proposal.num_recalled
        visited = jax.vmap(memory.imaginable)(recalled.memory) if number else None
        imagined, exist = imagine_memories(
            self.proposal,
            memory,
            jax.random.fold_in(jax.random.key(which), how),
            real,
            PastStep(visited, recalled.step) if number else None,
            jnp.ones(number, dtype=bool),
        )
        chosen = _drawn(exist, which)
        proposed = jax.tree.map(lambda leaf: leaf[chosen], imagined)
        after, scheme_state, pay = problem.imagine(
            proposed, context.scheme_state, context.step, context.is_over
        )
        changed = (how % (1 + self.imagined) > 0) & exist[chosen]
        shown = self.fairness.code(
            AgentView(proposed, context.scheme_state.filter, context.scheme_state.fold)
        )
        then = self.fairness.code(AgentView(after, scheme_state.filter, scheme_state.fold))
        return changed, shown, then, pay

    def _require_memory_pays(self, context: StepContext, paid: float) -> None:
        """Compare the reward that the memory claims with the real one, for some experiences."""
        problem = self.fairness.problem
        memory, _, claimed = problem.imagine(*context)
        self._checked += 1
        remembered = jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), memory)
        where = f"experience {self._checked} leaves it at {remembered} and"
        besides = ", and wrap the environment in nothing that changes the reward"
        require_same_reward(problem, claimed, paid, where, besides)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}


def _context_in(info: dict[str, Any]) -> StepContext:
    if "step_context" not in info:
        raise BadParameter(
            "info has no step_context to imagine from: put a FairnessWrapper around it."
        )
    return info["step_context"]


def _type(leaf: Any) -> Any:
    kind = np.asarray(leaf).dtype
    return np.float32 if kind == np.float64 else kind  # as JAX carries it


def _drawn(exist: Float[Array, " proposal"], dice: UInt32[Array, ""]) -> Array:
    """One of those that exist, each as likely."""
    number = jnp.maximum(jnp.sum(exist), 1).astype(jnp.uint32)
    place = (dice % number).astype(jnp.int32)
    return jnp.argmax(jnp.cumsum(exist) == place + 1)
