"""Logs of every kind that can be drawn again, for tests of chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from evenhand.auditing.audit_log import audit_with
from evenhand.auditing.case import Case
from evenhand.auditing.chance.finding import group_labels
from evenhand.auditing.chance.nulls import HeldFixed
from evenhand.auditing.chance.simulation import DrawnHistories
from evenhand.auditing.judge import judge_case
from evenhand.auditing.questions import question_of
from evenhand.log.layout import Notes
from evenhand.log.log import Log, Supply, record_of
from evenhand.log.options import AuditOptions

NAMES = list("ABCDE")


def small_log(seed=0, rows=40, days=20, correction=True):
    """Who got how much on which day; one row is taken back later."""
    rng = np.random.default_rng(seed)
    log = pd.DataFrame(
        {
            "day": np.sort(rng.integers(1, days + 1, rows)),
            "who": rng.choice(NAMES, rows),
            "got": rng.integers(1, 4, rows).astype(float),
        }
    )
    log.loc[0, "day"], log.loc[rows - 1, "day"] = 1, days
    if correction:
        first = log.iloc[3]
        log.loc[rows] = [int(first["day"]) + 1, first["who"], -float(first["got"])]
    return log.sort_values("day", kind="stable", ignore_index=True)


def dated(log):
    """The same with dates in place of days."""
    return log.assign(day=pd.Timestamp("2021-01-29") + pd.to_timedelta(log["day"], unit="D"))


STAYS = pd.DataFrame(
    {"who": NAMES, "from": [1, 1, 1, 6, 11], "until": [20, 20, 15, 20, 20]},
)
SIZES = {"A": 1.0, "B": 2.0, "C": 3.0, "D": 2.5, "E": 0.5}
REQUESTS = pd.DataFrame(
    {"day": [1] * 5 + [9] * 5, "who": NAMES * 2, "wants": [40, 30, 50, 35, 45] + [60] * 5}
)
GROUPS = {"A": "x", "B": "x", "C": "y", "D": "y", "E": "y"}

# What can be asked of a log that is drawn again, by name.
KINDS = {
    "plain": {},
    "every_7": {"every": 7},
    "at_end": {"at_end": True, "welfare": "gini"},
    "after_each": {"after_each": 10.0, "temporal": "worst"},
    "sizes": {"entitlement": SIZES, "every": 3},
    "unweighted": {"entitlement": SIZES, "unweighted": True, "every": 3},
    "tolerance": {"tolerance": "5%", "welfare": "rawls"},
    "harms": {"lower_is_better": True, "entitlement": SIZES},
    "groups": {"group": "group"},
    "by_group": {"by": "group", "group": "group", "entitlement": SIZES},
    "stays": {"roster": STAYS, "every": 4},
    "stays_and_sizes": {"roster": STAYS, "entitlement": SIZES, "every": 7},
    "least": {"roster": STAYS, "newcomers": "least"},
    "zero": {"roster": STAYS, "newcomers": "zero", "every": 4},
    "by-time": {"roster": STAYS, "newcomers": "by_time"},
    "share_met": {"requests": REQUESTS, "asked": "wants"},
    "shortfall": {"requests": REQUESTS, "asked": "wants", "judge_requests": "shortfall"},
    "while_waiting": {
        "requests": REQUESTS,
        "asked": "wants",
        "judge_requests": "while_waiting",
        "entitlement": SIZES,
    },
}


def log_of(kind, seed=0):
    """A log for which such a question makes sense."""
    correction = kind not in ("share_met", "shortfall", "while_waiting")
    log = small_log(seed, correction=correction)
    stay = STAYS.set_index("who")
    if "roster" in KINDS[kind]:
        inside = log["day"].between(log["who"].map(stay["from"]), log["who"].map(stay["until"]))
        log = log[inside & (log["got"] > 0)]
    return log.assign(group=log["who"].map(GROUPS))


class Ready:
    """A log that was read and judged, ready to be drawn again."""

    def __init__(self, log, **asked):
        asked = {"stakeholder": "who", "time": "day", "amount": "got", **asked}
        self.options = AuditOptions(**asked)
        question = question_of(self.options)
        self.prepared = Log.of(record_of(log, self.options), self.options)
        self.case = Case.of(self.prepared, self.options)
        self.judgement = judge_case(self.case, question, self.options, Notes())
        labels = group_labels(self.case, self.prepared.group_of)
        asked, scheme = self.judgement.asked, self.judgement.scheme
        self.judging = DrawnHistories(
            self.case, asked.timeline, scheme, self.options.newcomers, labels
        )
        self.supply = Supply.of(self.prepared)
        slots = len(self.supply.moments)
        self.by_slot = HeldFixed.of(self.supply, np.arange(slots), slots)
        self.held = HeldFixed.of(self.supply, self.judging.interval, self.judging.intervals)

    def by_interval(self, receipts):
        """What was received at each time point, added up as it is judged."""
        found = np.zeros((len(receipts), self.judging.intervals, receipts.shape[2]))
        for draw in range(len(receipts)):
            np.add.at(found[draw], self.judging.interval, receipts[draw])
        return found

    def audit_of(self, receipts):
        """The audit of a log in which these were the receipts at each time point."""
        slot, who = np.nonzero(receipts)
        log = pd.DataFrame(
            {
                "day": self.supply.moments[slot],
                "who": np.array(self.supply.names)[who],
                "got": receipts[slot, who],
            }
        )
        # Nobody may be missing, and every time point must be there.
        rest = pd.DataFrame(
            {
                "day": np.repeat(self.supply.moments, len(self.supply.names)),
                "who": list(self.supply.names) * len(self.supply.moments),
                "got": 0.0,
            }
        )
        log = pd.concat((log, rest), ignore_index=True)
        log = log.assign(group=log["who"].map(GROUPS)).sort_values("day", kind="stable")
        return audit_with(log, replace(self.options, chance=False, alarm=None))
