"""What the options of an audit cannot mean together, or alone: refused, with the reason.

An option that would be ignored, or would change the meaning of another without a word, is a wrong
answer that nobody notices.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from evenhand.errors import BadParameter, argument
from evenhand.fairness.filters import AfterEach, Always, Filter, Final


class Apart(NamedTuple):
    """An option that cannot be given together with any of some others, and why."""

    option: str
    others: tuple[str, ...]
    why: str  # said of both, which are {one} and {other}


SET_AGAINST = "{one} and {other} both say what an amount is set against"
TOTALS = (
    "{one} needs what happened in each row, and {other} says that amounts are totals: take "
    "differences first, or"
)
PERIODS = "{one} judges each period from nothing, which {other} does not allow"
GIVEN_OUT = "{one} says that amounts are levels, and {other} that they are given out"
REFUSED = (
    Apart("out_of", ("entitlement", "asked", "requests"), SET_AGAINST),
    Apart("out_of", ("newcomers",), "{one} needs no beginning, which {other} would give it"),
    Apart("out_of", ("cumulative", "stock"), TOTALS),
    Apart(
        "out_of",
        ("unweighted",),
        "a rate ({one}) is weighted by its chances, without which it has no mean",
    ),
    Apart(
        "within_period",
        ("after_each", "when"),
        "{one} needs periods, and {other} looks at moments: say with {every} how long one is, or",
    ),
    *(
        refused
        for option in ("asked", "requests")
        for refused in (
            Apart(option, ("cumulative", "stock"), TOTALS),
            Apart(
                option,
                ("lower_is_better",),
                "{one} says that amounts are wanted, and {other} that less of them is better",
            ),
            Apart(
                option,
                ("newcomers",),
                "{one} says from when each wants something, and {other} would let it begin "
                "elsewhere",
            ),
        )
    ),
    Apart(
        "requests", ("run",), "the rows of {one} belong to no {other}: put them into the log, or"
    ),
    Apart("stock", ("cumulative", "after_each"), GIVEN_OUT),
    Apart("stock", ("newcomers",), "{one} says where each stands, which {other} would change"),
    Apart("before", ("since", "run", "requests", "asked"), PERIODS),
    Apart(
        "within",
        ("lower_is_better",),
        "{one} judges the share in time, which is better when higher, and {other} says less is",
    ),
    Apart("time_unit", ("time_format",), "{one} and {other} both say how times are written"),
    Apart("longest_open", ("within",), "{one} and {other} ask different questions"),
    Apart(
        "run",
        ("null", "draws", "power", "alarm"),
        "{one} averages many histories, and {other} is about a single one",
    ),
    Apart(
        "alarm",
        ("asked", "requests"),
        "{one} watches as a monitor does, which does not know {other}",
    ),
    Apart("alarm", ("cumulative", "stock", "out_of"), "{one} needs lots, and {other} has none"),
)
# Options that have a meaning only beside one of some others.
NEEDS = {
    "unweighted": ("entitlement",),
    "within_period": ("out_of",),
    "judge_requests": ("asked", "requests"),
    "requests_stakeholder": ("requests",),
    "requests_time": ("requests",),
    "requests_table": ("requests",),
    "within": ("wait_from",),
    "longest_open": ("wait_from",),
    "newcomers": ("roster",),
}
# What waits leave no room for.
NOT_OF_WAITS = (
    *(
        "time",
        "amount",
        "out_of",
        "asked",
        "requests",
        "entitlement",
        "newcomers",
        "after_each",
        "when",
    ),
    *("cumulative", "stock", "unweighted", "null", "draws", "power", "alarm"),
)


# What an audit says beside its scores, of which nothing else has any use.
OF_AUDITS_ALONE = (
    *("tolerance", "max_unfairness", "min_score", "alarm", "reference", "null", "draws", "power"),
    *("title", "description", "display_names"),
)


def refuse_of_audits_alone(given: Set[str], what: str) -> None:
    """Refuse what only an audit has a use for, where something else is asked of a log.

    Args:
        given: The names of the options that were given.
        what: What is asked, such as "a replay".
    """
    for name in OF_AUDITS_ALONE:
        if name in given:
            raise BadParameter(f"{argument(name)} is for an audit, and {what} has no use for it.")


def refuse_senseless(given: Set[str], filter_: Filter | None, per_unit: bool) -> None:
    """Refuse what options cannot mean together.

    Args:
        given: The names of the options that were given.
        filter_: When the scheme looks, if one is given.
        per_unit: Whether requests are judged in a way that can be per unit of an entitlement.
    """
    for option, others, why in REFUSED:
        for other in others:
            if option in given and other in given:
                words = why.format(
                    one=argument(option), other=argument(other), every=argument("every")
                )
                joint = "" if words.endswith(", or") else ":"
                raise BadParameter(f"{words}{joint} leave one out.")
    for option, needed in NEEDS.items():
        if option in given and not given & set(needed):
            raise BadParameter(
                f"{argument(option)} has no meaning without "
                f"{' or '.join(argument(name) for name in needed)}: give that too, or leave it out."
            )
    if not per_unit:
        _refuse_entitled_requests(given)
    if filter_ is not None:
        _refuse_filter(given, filter_)
    for name, what in (("cumulative", "running totals"), ("stock", "levels")):
        if name in given and "amount" not in given:
            raise BadParameter(
                f"{argument(name)} says that amounts are {what}: say with "
                f"{argument('amount')} which column holds them."
            )


def refuse_beside_waits(given: Set[str], by_group: bool) -> None:
    """Waits are counted from two dates, and there is no more to them.

    Args:
        given: The names of the options that were given.
        by_group: Whether groups are judged.
    """
    if not given >= {"wait_from", "wait_to"}:
        raise BadParameter(
            "a wait needs two dates: say with "
            f"{argument('wait_from')} and {argument('wait_to')} which columns hold them."
        )
    for name in NOT_OF_WAITS:
        if name in given:
            raise BadParameter(
                f"{argument('wait_from')} and {argument('wait_to')} say all there is to a wait: "
                f"leave {argument(name)} out."
            )
    if "longest_open" in given and by_group:
        raise BadParameter(
            f"{argument('longest_open')} is not summed by group: leave {argument('by')} out."
        )


def _refuse_entitled_requests(given: Set[str]) -> None:
    """Only what was received, among those who wait, can be per unit of an entitlement as well."""
    for option in ("requests", "asked"):
        if given >= {option, "entitlement"}:
            both = SET_AGAINST.format(one=argument(option), other=argument("entitlement"))
            raise BadParameter(
                f"{both}: leave one out, or judge with "
                f"{argument('judge_requests', 'while_waiting')}."
            )


def _refuse_filter(given: Set[str], own: Filter) -> None:
    """A scheme's filter is refused where the option that says the same would be."""
    senseless: tuple[str, ...] = () if own in (Always(), Final()) else ("within_period",)
    if isinstance(own, AfterEach):
        senseless += ("wait_from", "stock")
    for name in senseless:
        if name in given:
            raise BadParameter(
                f"the scheme looks {own.describe()}, which has no meaning with {argument(name)}: "
                f"leave the filter out of the scheme, and say when to look with "
                f"{argument('every')} or {argument('at_end')}."
            )
