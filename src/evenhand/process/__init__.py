"""Section 3: decision processes, policies that may remember, and the score of a policy."""

from evenhand.process.mdp import FiniteMDP
from evenhand.process.policy import HistoryPolicy, MarkovPolicy, MemoryPolicy, Policy, Stochastic
from evenhand.process.process import Process, Transition, rollout
from evenhand.process.scoring import PolicyScore, policy_score, steps_for_limit

__all__ = [
    "FiniteMDP",
    "HistoryPolicy",
    "MarkovPolicy",
    "MemoryPolicy",
    "Policy",
    "PolicyScore",
    "Process",
    "Stochastic",
    "Transition",
    "policy_score",
    "rollout",
    "steps_for_limit",
]
