"""The simple rules that learning has to beat, and what the best of them scores."""

from __future__ import annotations

from typing import Any, NamedTuple

from evenhand.decide.environment_rule import rule_for
from evenhand.envs import Act, GreedyForBank, LongestWaitFirst, RoundRobin, WaitingList
from evenhand.envs.lending import Bank
from evenhand.envs.one_step_ahead import OneStepAhead
from evenhand.memory.memory import Memory, Nothing
from evenhand.planning.evaluation import evaluate
from evenhand.problem.problem import Problem

RULES_TRIED = ("least_served", "longest_wait", "half_life:2", "half_life:5", "lottery")
EPISODES = 20_000  # that the score of a rule is the mean of
NO_TABLE = 1.0  # bytes: by episodes, as tables of what some rules remember are large


class SimpleRule(NamedTuple):
    """A policy that does not learn, with what it has to see."""

    act: Act
    memory: Memory


class RuleScore(NamedTuple):
    """What a rule scores, with a 95% interval."""

    name: str
    score: float
    interval: tuple[float, float]


def simple_rules(problem: Problem) -> dict[str, SimpleRule]:
    """Every rule that can be put into the environment, and the hard-coded policies that fit it."""
    environment: Any = problem.environment
    found: dict[str, SimpleRule] = {}
    if environment.serves_by_number:
        for name in RULES_TRIED:
            policy = rule_for(environment, name)
            assert policy is not None
            found[name] = SimpleRule(policy, policy.memory())
        found["round_robin"] = SimpleRule(RoundRobin(environment.num_actions), Nothing())
    ahead = OneStepAhead(environment, problem.scheme)
    found["one_step_ahead"] = SimpleRule(ahead, ahead.memory())
    if isinstance(environment, Bank):
        found["greedy_for_bank"] = SimpleRule(GreedyForBank(environment), Nothing())
    if isinstance(environment, WaitingList):
        found["longest_wait_first"] = SimpleRule(LongestWaitFirst(environment), Nothing())
    return found


def rule_scores(problem: Problem, episodes: int = EPISODES) -> list[RuleScore]:
    """The score of every simple rule, best first.

    Args:
        problem: An environment and a scheme; the memory is that of each rule.
        episodes: How many episodes a score is the mean of.
    """
    scores = []
    for name, rule in simple_rules(problem).items():
        seen = Problem(problem.environment, problem.scheme, rule.memory)
        found = evaluate(seen, rule.act, episodes=episodes, memory_limit=NO_TABLE)
        scores.append(RuleScore(name, found.score, found.interval))
    return sorted(scores, key=lambda one: -one.score)
