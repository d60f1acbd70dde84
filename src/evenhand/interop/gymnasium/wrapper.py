"""Section 5 around any Gymnasium environment: memory joins the observation, fairness is the reward.

env = FairnessWrapper(gymnasium.make("evenhand/Doughnuts-v0"), scheme, Full())
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from evenhand.errors import BadParameter, NotReset
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.trace import Override, Step
from evenhand.interop.gymnasium.environments import WorldEnv
from evenhand.interop.gymnasium.external import (
    EnvStep,
    ExternalEnvironment,
    Fairness,
    FlatObservation,
    Join,
    StakeholderRewards,
    StepContext,
    attribute,
    checked,
    horizon_of,
    num_stakeholders_of,
    override_of,
    stakeholder_rewards_of,
)
from evenhand.learn.deep.encoders import Encoder, Raw
from evenhand.memory.memory import Full, Memory
from evenhand.problem.checks import require_as_many_assessments
from evenhand.problem.problem import AugmentedState, Problem

UNKNOWN_HORIZON = 2**30  # decisions, where nothing says after how many an episode ends


class FairnessWrapper(gymnasium.Wrapper, RecordConstructorArgs):
    """The augmented problem: observations ⟨s, m⟩, and the scheme's reward for each step.

    The rewards of an episode add up to its score, discounted where the scheme is. `info` gains
    `status`, `raw_reward`, `stakeholder_rewards`, `score` (so far) and `step_context`, from which
    other memories can be imagined.

    Args:
        env: Any Gymnasium or MO-Gymnasium environment. Put the wrapper outside of a time limit, so
            that it sees how episodes end, and put nothing outside of it that changes the reward.
        scheme: What fair means. Default: the environment's own, for those of `evenhand.envs`.
        memory: What the agent remembers; all that each has received, by default.
        stakeholder_rewards: What each stakeholder received in a step, as a function of an
            `EnvStep`. Default: the entry `stakeholder_rewards` of `info` in our environments, the
            vector reward in those of MO-Gymnasium.
        num_stakeholders: How many there are, where the environment does not say.
        horizon: After how many decisions an episode is cut off (truncated), where the environment
            does not do so itself.
        augment_with_score: Whether the agent also sees the running score, which schemes that are
            not sums over time need.
        join: Where the memory goes: behind the observation (`FlatObservation`) or beside it in a
            dictionary (`DictObservation`).
        encoder: How the memory is coded as numbers; as it is, by default.
    """

    def __init__(
        self,
        env: gymnasium.Env,
        scheme: FairnessScheme | None = None,
        memory: Memory = Full(),
        stakeholder_rewards: StakeholderRewards | None = None,
        *,
        num_stakeholders: int | None = None,
        horizon: int | None = None,
        augment_with_score: bool = False,
        join: Join = FlatObservation(),
        encoder: Encoder = Raw(),
    ) -> None:
        RecordConstructorArgs.__init__(
            self,
            scheme=scheme,
            memory=memory,
            stakeholder_rewards=stakeholder_rewards,
            num_stakeholders=num_stakeholders,
            horizon=horizon,
            augment_with_score=augment_with_score,
            join=join,
            encoder=encoder,
            _disable_deepcopy=True,
        )
        gymnasium.Wrapper.__init__(self, env)
        if scheme is None and isinstance(env.unwrapped, WorldEnv):
            scheme = env.unwrapped.world.default_scheme()
        if scheme is None:
            raise BadParameter("this environment has no scheme of its own: give one.")
        self.stakeholder_rewards = stakeholder_rewards or stakeholder_rewards_of(env)
        actions, length = env.action_space, horizon_of(env, horizon, UNKNOWN_HORIZON)
        elsewhere = ExternalEnvironment(
            num_stakeholders_of(env, num_stakeholders),
            int(actions.n) if isinstance(actions, spaces.Discrete) else 0,
            length,
            bool(attribute(env, "may_override", False)),
        )
        self.fairness = Fairness(Problem(elsewhere, scheme, memory, augment_with_score), encoder)
        if length == UNKNOWN_HORIZON:
            require_as_many_assessments(self.fairness.problem, None)
        self.join = join
        self.observation_space = join.space(env.observation_space, self.fairness.size)
        self._at: AugmentedState | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._at, self._observation = self.fairness.first(), deepcopy(observation)
        self._score, self._weight, self._decided = 0.0, 1.0, 0
        info = {**info, "status": np.array(self.fairness.status(self._at)), "score": 0.0}
        return self._joined(), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self._at is None:
            raise NotReset("the episode has not begun, or is over: call reset() before step().")
        fairness, before = self.fairness, self._at
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._decided += 1
        late = self._decided == fairness.problem.environment.horizon
        truncated = truncated or (late and not terminated)
        seen = EnvStep(self._observation, action, observation, reward, info)
        rewards = checked(self.stakeholder_rewards(seen), fairness.num_stakeholders)
        ours = self.env.unwrapped
        state = ours.state if isinstance(ours, WorldEnv) else observation
        step = Step(action, rewards, state, self._override(info))
        is_over = bool(terminated or truncated)
        if is_over:
            require_as_many_assessments(fairness.problem, self._decided)
        after, pay = fairness.after(before, step, is_over)
        self._score += self._weight * pay
        self._weight *= fairness.problem.discount
        # A copy, here and above: some environments fill one and the same array again and again.
        self._observation, self._at = deepcopy(observation), after
        joined = self._joined()
        # Copied, as an info must not share what a later one holds.
        memory, scheme_state = jax.tree.map(np.array, (before.memory, before.scheme_state))
        info = {
            **info,
            "status": np.array(fairness.status(after)),
            "raw_reward": reward,
            "stakeholder_rewards": rewards.copy(),
            "score": self._score,
            "step_context": StepContext(memory, scheme_state, step, np.asarray(is_over)),
        }
        if is_over:
            self._at = None
        return joined, pay, bool(terminated), bool(truncated), info

    def _joined(self) -> Any:
        assert self._at is not None
        return self.join.join(
            self.env.observation_space, self._observation, self.fairness.shown(self._at)
        )

    def _override(self, info: dict[str, Any]) -> Override | None:
        if not self.fairness.problem.environment.may_override:
            return None
        return override_of(info)

    @property
    def memory(self) -> Any:
        """What is remembered now: m."""
        if self._at is None:
            raise NotReset("nothing is remembered between episodes: call reset() first.")
        return self._at.memory


def fairness_of(env: Any) -> Fairness:
    """The augmented problem of a wrapped environment, or of a vector environment of them."""
    if hasattr(env, "get_attr"):  # Stable-Baselines3's, and Gymnasium's, vector environments
        return env.get_attr("fairness")[0]
    if isinstance(env, gymnasium.Env) and env.has_wrapper_attr("fairness"):
        return env.get_wrapper_attr("fairness")
    raise BadParameter("this environment has no fairness scheme: put a FairnessWrapper around it.")
