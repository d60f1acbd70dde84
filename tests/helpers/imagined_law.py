"""The law of imagined experience: what is imagined is what the world would have done.

Two histories of random play come to the same step. An agent in the first imagines the memory of
the second, and stores that experience. Beside it, the second history's own memory and status are
put into the world of the first, and the step is really taken there: with no claim, by the scheme
itself. Both experiences must be the same. Or else the agent is refused, and the refusal says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evenhand.envs import (
    Boosters,
    Crates,
    Doughnuts,
    GaussianLending,
    Jobs,
    Lending,
    Shifts,
    Triage,
    Vaccines,
    WaitingList,
)
from evenhand.envs.fair_taxi import FairTaxi
from evenhand.envs.fish_wood import FishWood
from evenhand.errors import EvenhandError
from evenhand.learn.deep.agent import DecisionRecord
from evenhand.learn.deep.dqn import DQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP
from evenhand.learn.imagined_memories import NoProposal, Proposal
from evenhand.memory.memory import Full
from evenhand.problem.problem import AugmentedState, Problem

# Every shipped world by its name, short enough to be run through; not those made from a log.
WORLDS = {
    "doughnuts": Doughnuts(3, 5, (0.9, 0.6, 0.6)),
    "lending": Lending(horizon=5),
    "lending_gaussian": GaussianLending(horizon=5),
    "vaccines": Vaccines(horizon=5),
    "waiting_list": WaitingList((0.6, 0.4), 1.0, 2, 5),
    "shifts": Shifts(((0, 3), (1, 5)), 0.8, 5),
    "crates": Crates(horizon=5),
    "boosters": Boosters(2, (0.7, 0.3), 5),
    "triage": Triage((0.6, 0.5), 0.5, (1.0, 0.4), 5),
    "jobs": Jobs(horizon=5),
    "taxi": FairTaxi(),
    "fish_wood": FishWood(horizon=5),
}
STEPS = 4
SAYS_HOW = re.compile(
    r"\b(use|give|choose|plan|build|learn|write|set|name|leave|judge|put|take)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class TheOther(Proposal):
    """Imagines one memory that was written down: a way to ask for a certain one."""

    leaves: tuple[tuple[bytes, str, tuple[int, ...]], ...]
    form: Any  # how the leaves make a memory

    @classmethod
    def of(cls, part):
        leaves, form = jax.tree.flatten(part)
        arrays = [np.asarray(leaf) for leaf in leaves]
        return cls(tuple((a.tobytes(), str(a.dtype), a.shape) for a in arrays), form)

    def near(self, memory):
        arrays = [
            jnp.asarray(np.frombuffer(data, dtype=kind).reshape(shape))[None]
            for data, kind, shape in self.leaves
        ]
        return jax.tree.unflatten(self.form, arrays), jnp.ones(1, dtype=bool)

    def describe(self):
        return "one memory that is given"


def require_refusal_says_why(error, memory):
    """One sentence or several, in words, with what to do; and no advice that was followed."""
    text = str(error)
    assert text.endswith(".")
    assert SAYS_HOW.search(text), text
    assert not (memory == Full() and "such as Full" in text), text


def learning_starts(environment, scheme, memory, seed=0):
    """Whether an agent that imagines is made; if so, that what it imagines is true."""
    key = jax.random.key(seed)
    try:
        problem = Problem(environment, scheme, memory)
        first, second = (_random_play(problem, k) for k in jax.random.split(key))
        same = [k for k in range(STEPS) if _same(_counters(first[k]), _counters(second[k]))]
        time = same[-1]  # as long after the start as clocks and running scores are alike
        part = memory.imaginable(second[time].memory)
        agent = _agent(problem, TheOther.of(part))
    except EvenhandError as error:
        require_refusal_says_why(error, memory)
        return False
    _require_truth(problem, agent, first[time], second[time], part, key)
    return True


def _agent(problem, proposal):
    return DQN(problem=problem, encoder=Raw(), network=MLP((2,)), proposal=proposal, capacity=4)


def _random_play(problem, key):
    """The augmented states of the first steps of a random episode."""

    def once(augmented, key):
        act, step = jax.random.split(key)
        action = jax.random.randint(act, (), 0, problem.environment.num_actions)
        return problem.step(step, augmented, action)[0], augmented

    @jax.jit
    def play(key):
        keys = jax.random.split(key, STEPS)
        return jax.lax.scan(once, problem.initial(keys[0]), keys)[1]

    found = jax.device_get(play(key))
    return [jax.tree.map(lambda leaf, t=t: jnp.asarray(leaf[t]), found) for t in range(STEPS)]


def _require_truth(problem, agent, here, there, part, key):
    env = problem.environment
    # Really there: the world of the one, with memory and status of the other.
    memory = problem.memory.imagined(here.memory, part)
    real = AugmentedState(here.state, memory, there.scheme_state)

    @jax.jit
    def both(here, real, key):
        act, step_key = jax.random.split(key)
        action = jax.random.randint(act, (), 0, env.num_actions)
        after, step, pay = problem.step(step_key, here, action)
        over = env.is_over(after.state)
        return after, step, pay, over, *problem.after(real, step, after.state, over)

    after, step, pay, over, reached, real_pay = both(here, real, key)
    imagined = _stored(agent, here, after, step, pay, over)
    lived = _stored(_agent(problem, NoProposal()), real, reached, step, real_pay, over)
    place = 1 if np.asarray(imagined.stored) > 1 else 0  # the same as the real one is not imagined
    for name in ("features", "action", "reward", "bootstrap", "following"):
        found = np.asarray(getattr(imagined.items, name))[place]
        expected = np.asarray(getattr(lived.items, name))[0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)


def _stored(agent, before, after, step, pay, over):
    """What an agent stores of one step."""

    @jax.jit
    def store(before, after, step, pay, over):
        zero = jnp.zeros((), dtype=jnp.int32)
        learner = agent.begin(jax.random.key(0), jax.random.key(1), before)
        happened = DecisionRecord(before, (), zero, step, after, pay, over, over)
        return agent.store(learner, happened).replay

    return jax.device_get(store(before, after, step, pay, over))


def _counters(augmented):
    """What is not imagined: clocks of filters and running scores."""
    state = augmented.scheme_state
    return state.filter, state.fold, state.assessed


def _same(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)
