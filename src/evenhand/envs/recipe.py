"""Section 6: the numbers with which the methods learn an environment, as the environment says them.

A recipe is plain numbers and names; `lab.recipes` makes agents of it. What stands here as
default suits an environment of which nothing is known. An environment that knows better overrides
`Environment.recipe`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evenhand.fairness.groups import Groups
from evenhand.fairness.scheme import FairnessScheme
from evenhand.fairness.status import Returns
from evenhand.memory.memory import Full, Memory, Min, Nothing, Reset


@dataclass(frozen=True)
class LearningNumbers:
    """The three numbers of the appendix's tables: the learning rate, the room for experiences in
    the replay buffer, and how many of them make a batch.
    """

    rate: float
    capacity: int
    batch: int


@dataclass(frozen=True)
class PaperRecipe:
    """The appendix's table for an environment. The default is that of doughnuts."""

    fairqcm: LearningNumbers = LearningNumbers(1e-4, 6400, 2048)
    rnn: LearningNumbers = LearningNumbers(2e-3, 1000, 256)
    others: LearningNumbers = LearningNumbers(1e-4, 400, 64)
    target_copied_every: int = 1000  # updates
    widths: tuple[int, ...] = (32, 16, 8)

    def learning(self, method: str) -> LearningNumbers:
        return {"fairqcm": self.fairqcm, "rnn": self.rnn}.get(method, self.others)


@dataclass(frozen=True)
class BestRecipe:
    """A recipe of our own. By default the horizon ends an episode and a clock says how near it is.

    Args:
        discount: The discount γ of the learner.
        horizon_terminates: Whether the horizon ends an episode; then a clock is added to memory.
        shaping: Whether a step is rewarded by the welfare it adds, which makes a short view enough.
        scale: What rewards are multiplied by, for the network's sake.
        learning: Of all methods but the recurrent one.
        rnn: Of the recurrent one.
        warm_up: How many steps are taken before learning starts.
        halved_after: The number of updates after which the learning rate has halved.
        updates_per_step: How many updates follow each step.
        target_rate: The share of the way that the target network moves with each update.
        exploration_factor: What epsilon is multiplied by after each episode.
        exploration_floor: Epsilon falls no further than this.
        widths: Of the network's layers.
        groups: The groups in which the network compares stakeholders, if there are any.
    """

    discount: float = 1.0
    horizon_terminates: bool = True
    shaping: bool = False
    scale: float = 1.0
    learning: LearningNumbers = LearningNumbers(1e-3, 50_000, 128)
    rnn: LearningNumbers = LearningNumbers(1e-3, 5_000, 256)
    warm_up: int = 1000
    halved_after: int = 40_000
    updates_per_step: int = 2
    target_rate: float = 0.005
    exploration_factor: float = 0.98
    exploration_floor: float = 0.1
    widths: tuple[int, ...] = (64, 64)
    groups: Groups | None = None


@dataclass(frozen=True)
class Recipe:
    """How the methods of section 6 learn an environment.

    Args:
        memories: The memory that each method sees, by the method's name. FairQCM's must determine
            the reward; a method that is left out is not offered.
        proposal: The name of what FairQCM imagines.
        reach: How far that reaches; None for a proposal that takes no parameter.
        paper: Numbers for networks, as in the paper's appendix.
        best: Numbers for networks that learn faster, where some were found by trying; without them
            the recipe `best` is the default one.
    """

    memories: Mapping[str, Memory]
    proposal: str = "above"
    reach: int | None = 2
    paper: PaperRecipe = PaperRecipe()
    best: BestRecipe | None = None


def memories_by_method(scheme: FairnessScheme, determining: Memory | None) -> dict[str, Memory]:
    """The memories of the methods where nothing else is known.

    FairQCM needs a memory that determines the reward: the environment's own (`determining`), or
    Full where the status is what each stakeholder has received.
    """
    known = Full() if determining is None and scheme.status == Returns() else determining
    fairqcm = {} if known is None else {"fairqcm": known}
    return {**fairqcm, "full": Full(), "min": Min(), "reset": Reset(), "rnn": Nothing()}
