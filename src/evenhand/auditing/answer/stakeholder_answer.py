"""What an audit found for one stakeholder."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StakeholderAnswer:
    """One stakeholder. Below 0 is unfair to it, above 0 in its favour (section 4.2.1)."""

    name: str
    group: str | None
    entitlement: float | None
    received: float | None  # the plain amount; None for a group of which it is the status
    final: float  # its status at the end of the log
    final_unfairness: float
    overall_unfairness: float  # summed over the assessments
    share_below: float  # of the assessments at which it was there
    assessments: float  # at which it was there
    longest_spell: int  # assessments below the mean in a row
    longest_spell_from: str | None  # left out over runs, of which each has its own
    longest_spell_until: str | None
    first_unfairness: float | None  # at the first assessment
    last_unfairness: float | None  # at the last assessment, which may be before the end
    rank_final: int  # 1 is the most favoured
    rank_overall: int
    made_good: bool  # behind over all, not behind at the end
    fell_behind: bool  # not behind over all, behind at the end
