"""Section 5.2: M'_t, which memories to imagine beside the real one."""

from evenhand.learn.proposals.drawn import Replayed, SomeAbove, SomeAround, Visited
from evenhand.learn.proposals.listed import Everything, ReachableNow
from evenhand.learn.proposals.nearby import Above, Around
from evenhand.learn.proposals.proposal import PROPOSALS, NoProposal, Past, Proposal, ProposalContext

__all__ = [
    "PROPOSALS",
    "Above",
    "Around",
    "Everything",
    "NoProposal",
    "Past",
    "Proposal",
    "ProposalContext",
    "ReachableNow",
    "Replayed",
    "SomeAbove",
    "SomeAround",
    "Visited",
]
