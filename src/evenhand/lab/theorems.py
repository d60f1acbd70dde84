"""Sections 4 and 5: the paper's theorems, each checked on problems drawn at random.

A proof needs no check; a program that claims to implement one does. What is counted is how often
the code does what the theorem says; the seeds are fixed, so that the counts can be had again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.lab.claims import Finding


@dataclass(frozen=True)
class Theorem:
    """A statement of the paper, and how it is checked."""

    where: str
    says: str
    checked: Callable[[int], Finding]  # on so many random problems
    problems: int

    def check(self) -> Finding:
        return self.checked(self.problems)


def _finding(right: int, of: int, what: str) -> Finding:
    return Finding(right == of, f"{right:,} of {of:,} {what}")


def value_regular_statuses_get_a_memory(problems: int) -> Finding:
    """Theorem 1: automata for each value of a status, made into one memory that knows the value."""
    from evenhand.memory.augmented import automata_of
    from evenhand.memory.automata import Events

    rng = np.random.default_rng(1)
    right = of = 0
    for _ in range(problems):
        table, values, machine = _machine(rng, Events.of_pairs(1, 2))
        memory = automata_of(machine).memory()  # from the languages alone
        for _ in range(20):
            string = rng.integers(0, 2, rng.integers(0, 13))
            labels = [machine.events.labels[k] for k in string]
            state = 0
            for letter in string:
                state = table[state, letter]
            known = np.asarray(memory.implied_status(np.asarray(memory.after(labels))))
            right += bool(np.array_equal(known, values[state]))
            of += 1
    return _finding(right, of, f"histories of {problems:,} random statuses: the memory knows it")


def what_a_memory_makes_markovian_is_regular(problems: int) -> Finding:
    """Theorem 2: a status that ⟨s, m⟩ determines has a regular language for each of its values."""
    from evenhand.memory.augmented import AugmentedStatus, automata_of

    rng = np.random.default_rng(2)
    right = of = 0
    for _ in range(problems):
        states, memories, actions = rng.integers(1, 4, size=3)
        status = AugmentedStatus(
            initial_state=int(rng.integers(states)),
            initial_memory=int(rng.integers(memories)),
            update=rng.integers(0, memories, size=(memories, actions, states)),
            status=rng.integers(0, 2, size=(states, memories, 2)),
        )
        regular = automata_of(status.memory())
        for _ in range(10):
            state, memory = status.initial_state, status.initial_memory
            labels: Any = []
            for _ in range(rng.integers(0, 10)):
                action, state = int(rng.integers(actions)), int(rng.integers(states))
                memory = int(status.update[memory, action, state])
                labels.append(f"{action},{state}")
            accepts = [dfa.accepts_input(labels) for dfa in regular.automata]
            expected = [
                np.array_equal(value, status.status[state, memory]) for value in regular.values
            ]
            right += accepts == expected
            of += 1
    words = f"histories of {problems:,} random memories: one automaton accepts, that of the value"
    return _finding(right, of, words)


def augmented_optimum_is_the_best_score(problems: int) -> Finding:
    """Section 5.2: a reward-like scheme on ⟨s, m⟩ is a plain MDP, whose optimum is the best score.

    Against it stands the best of all policies that may depend on the whole history, found by
    trying every action after every history, each whole trace scored by the scheme itself.
    """
    from evenhand.envs import MDPEnvironment
    from evenhand.fairness.scheme import anytime
    from evenhand.fairness.temporal import Total
    from evenhand.fairness.trace import Trace
    from evenhand.fairness.welfare import LogNash
    from evenhand.planning.planner import plan
    from evenhand.problem.problem import Problem
    from evenhand.process import FiniteMDP

    rng, scheme, horizon = np.random.default_rng(3), anytime(LogNash(), Total()), 4

    def best(mdp: Any, state: int, received: list[Any]) -> float:
        if len(received) == horizon:
            return scheme.score(Trace(rewards=np.array(received)))
        return max(
            sum(
                chance * best(mdp, after, [*received, mdp.rewards[state, action, after]])
                for after, chance in enumerate(mdp.transitions[state, action])
            )
            for action in range(2)
        )

    right, most = 0, 0.0
    for _ in range(problems):
        mdp = FiniteMDP(
            0, rng.dirichlet(np.ones(2), (2, 2)), rng.integers(0, 2, (2, 2, 2, 2)).astype(float)
        )
        planned = plan(Problem(MDPEnvironment(mdp, horizon), scheme)).value
        apart = abs(planned - best(mdp, 0, []))
        right, most = right + int(apart < 1e-9), max(most, float(apart))
    return Finding(
        right == problems,
        f"{right} of {problems} planned values equal the best of all history-dependent policies; "
        f"the largest difference is {most:.0e}",
    )


def fairqcm_converges(problems: int) -> Finding:
    """Theorem 3: with Watkins' rates, tabular FairQCM approaches the planner's Q*."""
    from evenhand.learn.imagined_memories import Everything

    return _converges(Everything(), problems)


def drawing_few_converges(problems: int) -> Finding:
    """The same where three memories are drawn at each step, from those visited before."""
    from evenhand.learn.imagined_memories import Visited

    return _converges(Visited(3), problems)


def _converges(proposal: Any, problems: int) -> Finding:
    import jax

    from evenhand.learn.schedules import Exploration, Watkins
    from evenhand.learn.tabular.q_learning import Tabular

    at_random, errors = Exploration(start=1.0, factor=1.0, floor=1.0), []
    for seed in range(problems):
        problem = _endless(seed)
        learner = Tabular(problem, proposal, 0.6, Watkins(0.7), at_random, horizon=0)
        expected = _optimal_q(learner)
        learners = jax.vmap(learner.start)(jax.random.split(jax.random.key(seed), 3))
        row = []
        for steps in (500, 4_500, 45_000, 250_000):
            learners = learner.train_steps(learners, steps)
            apart = np.abs(np.asarray(learners.q)[:, :, 0] - expected).max(axis=(1, 2)).mean()
            row.append(apart / np.abs(expected).max())
        errors.append(row)
    mean = np.mean(errors, axis=0)
    course = ", ".join(f"{share:.1%}" for share in mean)
    held = bool((np.diff(mean) < 0).all() and max(row[-1] for row in errors) < 0.05)
    return Finding(
        held,
        f"the largest error of Q, as a share of the largest value, after 500, 5,000, 50,000 and "
        f"300,000 steps: {course} ({problems} random problems, 3 seeds each)",
    )


def peeking_is_biased(_: int) -> Finding:
    """The footnote to Theorem 3: memories imagined only after a win make winning seem sure.

    A lottery that is won half the time and pays 1, discounted by half, is worth 1. An imagined
    memory that is updated only after a win sees nothing but wins, and tends to 1.5.
    """
    rng = np.random.default_rng(0)
    values = {}
    for peeks in (False, True):
        q, updates = np.zeros(2), np.zeros(2)
        for _ in range(20_000):
            won = rng.random() < 0.5
            for memory in (0, 1) if won or not peeks else (0,):
                rate = (updates[memory] + 2.0) ** -0.8
                q[memory] += rate * (float(won) + 0.5 * q[0] - q[memory])
                updates[memory] += 1
        values[peeks] = float(q[1])
    held = abs(values[False] - 1.0) < 0.05 and abs(values[True] - 1.5) < 0.05
    return Finding(
        held,
        f"the imagined memory's value is {values[False]:.2f} when chosen before the outcome "
        f"(truth: 1) and {values[True]:.2f} when chosen after it",
    )


THEOREMS = (
    Theorem(
        "Theorem 1",
        "A value-regular status becomes Markovian with a finite memory.",
        value_regular_statuses_get_a_memory,
        100,
    ),
    Theorem(
        "Theorem 2",
        "What a finite memory makes Markovian is value-regular.",
        what_a_memory_makes_markovian_is_regular,
        100,
    ),
    Theorem(
        "Section 5.2",
        "With a reward-like scheme, the fairest policy is optimal in the augmented process.",
        augmented_optimum_is_the_best_score,
        20,
    ),
    Theorem("Theorem 3", "Tabular FairQCM converges to the optimal values.", fairqcm_converges, 3),
    Theorem(
        "Theorem 3, drawing a few",
        "So it does if only a few memories are imagined, drawn before the outcome is seen.",
        drawing_few_converges,
        3,
    ),
    Theorem(
        "Theorem 3, footnote",
        "Memories imagined after seeing the outcome would make luck seem likelier than it is.",
        peeking_is_biased,
        1,
    ),
)


def _machine(rng: np.random.Generator, events: Any) -> tuple[np.ndarray, np.ndarray, Any]:
    """A random automaton with a value for each of its states."""
    from evenhand.memory.automata import TableMemory

    size = int(rng.integers(1, 5))
    table = rng.integers(0, size, (size, 2))
    values = rng.integers(0, 3, (size, 2)).astype(float)
    memory = TableMemory(initial=0, table=table, events=events, values=values, num_stakeholders=2)
    return table, values, memory


def _endless(seed: int) -> Any:
    """A random process without an end, whose memory comes back again and again."""
    from evenhand.envs import MDPEnvironment
    from evenhand.fairness.scheme import anytime
    from evenhand.fairness.status import Window
    from evenhand.fairness.temporal import Discounted
    from evenhand.fairness.welfare import LogNash, Rawls
    from evenhand.memory.memory import OfStatus
    from evenhand.problem.problem import Problem
    from evenhand.process import FiniteMDP

    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(3), (3, 2))
    rewards = rng.integers(0, 2, (3, 2, 3, 2)).astype(float)
    status = Window(1)
    scheme = anytime(LogNash() if seed % 3 else Rawls(), Discounted(0.6), status)
    world = MDPEnvironment(FiniteMDP(0, transitions, rewards))
    return Problem(world, scheme, OfStatus(status))


def _optimal_q(learner: Any) -> np.ndarray:
    """The planner's Q*, for every row of a learner's table and every action."""
    from evenhand.planning.planner import effect_values, value_iteration

    table = learner.table
    values, _ = value_iteration(table, 1e-10)
    q = effect_values(table, values, slice(None), last=False)
    return q[learner.model.effects[0]].T
