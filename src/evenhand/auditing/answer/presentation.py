"""What the figures of an answer are called where people read them: title, unit, columns."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from evenhand.auditing.options import AuditOptions
from evenhand.fairness.status import OfRequests, ShareMet, Shortfall, Status, read_beside

# What each column of the log is for, in the words of a page.
COLUMNS = {
    "stakeholder": "who",
    "time": "when",
    "amount": "how much",
    "out_of": "out of how many",
    "asked": "asked for",
    "entitlement": "entitled to",
    "wait_to": "until when",
    "group": "group",
    "run": "run",
}

# What is judged of requests; of those who wait it is what they received.
REQUESTS: dict[type[Status] | None, str] = {
    ShareMet: "the share of requests that was met",
    Shortfall: "what was asked for and not met",
}


@dataclass(frozen=True)
class Presentation:
    """The words that an answer is presented with."""

    title: str | None = None
    description: str | None = None
    unit: str | None = None  # that was given for amounts
    measure: str | None = None  # what statuses are counted in, where that has a name
    subject: str = "the distribution"  # of what was judged, as a sentence begins
    judged: str = "stakeholders"  # or groups
    columns: tuple[tuple[str, str], ...] = ()  # what each is for, and its name in the log

    @classmethod
    def of(cls, options: AuditOptions, columns: Collection[str]) -> Presentation:
        """From what was asked, and the columns that the log has."""
        return cls(
            title=options.title,
            description=options.description,
            unit=options.unit,
            measure=_measure(options, columns),
            subject=_subject(options),
            judged="groups" if options.by_group else "stakeholders",
            columns=tuple(_named_columns(options, columns)),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "description": self.description,
            "unit": self.unit,
            "columns": dict(self.columns),
        }


def _measure(options: AuditOptions, columns: Collection[str]) -> str | None:
    """What statuses are counted in; a share of something has no unit."""
    is_share = options.out_of is not None or options.within is not None
    if is_share or _of_requests(options) is ShareMet:
        return None
    if options.waits or options.scheme is not None:
        return options.unit
    unit = options.unit or options.amount or "events"
    if options.entitlement is None:
        return unit
    own = options.entitlement if options.entitlement in columns else "entitlement"
    return f"{unit} per unit of {own}"


def _of_requests(options: AuditOptions) -> type[Status] | None:
    """How requests are judged, where they are: as the scheme's status says, or else the option."""
    own = read_beside(options.status())
    return type(own) if isinstance(own, OfRequests) else options.request_status


def _subject(options: AuditOptions) -> str:
    """What was judged, at the beginning of a sentence."""
    amounts = options.unit or options.amount or "events"
    if options.within is not None:
        found = f"the share of waits of at most {options.within}"
    elif options.waits:
        found = "the longest open wait" if options.longest_open else "the mean wait"
    elif options.out_of is not None:
        found = f"the rate of {options.amount or 'events'} out of {options.out_of}"
    elif (asked := _of_requests(options)) in REQUESTS:
        found = REQUESTS[asked]
    elif options.stock:
        found = f"the level of {amounts}"
    else:
        found = f"the distribution of {amounts}"
    if options.entitlement is not None:
        found += " by entitlement"
    return f"{found} (less is better)" if options.lower_is_better else found


def _named_columns(options: AuditOptions, columns: Collection[str]) -> list[tuple[str, str]]:
    found = []
    for role, words in COLUMNS.items():
        given = getattr(options, role)
        names = given if isinstance(given, list | tuple) else [given]
        found += [(words, name) for name in names if isinstance(name, str) and name in columns]
    return found
