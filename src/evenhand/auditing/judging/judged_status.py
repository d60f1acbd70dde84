"""The status that an audit judges by: the scheme's, set against what else the log says."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.auditing.log import Log
from evenhand.auditing.options import AuditOptions
from evenhand.errors import BadParameter, argument
from evenhand.fairness.groups import Groups
from evenhand.fairness.status import (
    STATUSES,
    Beside,
    GroupTotals,
    Level,
    MeanWait,
    OfRequests,
    PerCurrentEntitlement,
    PerEntitlement,
    Rate,
    RateWithinPeriod,
    Returns,
    ShareInTime,
    Status,
    WhileWaiting,
    Window,
    read_beside,
)

# The argument that says each part of the circumstances.
SAID_BY = {"chances": "out_of", "entitled": "entitlement", "asked": "asked"}


def judged_status(log: Log, options: AuditOptions) -> Status:
    """A status of groups where they are judged, per entitlement, as a rate, or of requests.

    Args:
        log: What was read, which says what amounts are set against.
        options: How to judge.
    """
    status = options.status()
    own = read_beside(status)
    if own is not None:
        _require_beside(own, log, options)
        return options.directed(status)
    _refuse_twice(status, options)
    if options.within_period:
        status = Window(1)
    shares = log.shares
    if log.groups is not None:
        status = GroupTotals(log.groups, of=status)
        shares = None if shares is None else log.groups.totals(shares)
    if "level" in log.beside:
        status = Level(of=status)
    elif "chances" in log.beside:
        status = _rate(status, log, options)
    elif "entitled" in log.beside:
        status = PerCurrentEntitlement(not options.unweighted, of=status)
    elif shares is not None:
        status = PerEntitlement(tuple(shares.tolist()), not options.unweighted, of=status)
    if options.request_status is not None:
        status = _of_requests(options.request_status, status, log.groups)
    return options.directed(status)


def _rate(status: Status, log: Log, options: AuditOptions) -> Rate:
    """What was received out of chances; of waits, their mean, or the share of those in time."""
    if options.within is not None:
        return ShareInTime(of=status)
    if options.waits:
        unit = "units of time" if log.history.plain_numbers else "days"
        return MeanWait(unit, of=status)
    return RateWithinPeriod(of=status) if options.within_period else Rate(of=status)


def _of_requests(kind: type[OfRequests], status: Status, groups: Groups | None) -> Status:
    """A status set against what was asked for."""
    if not issubclass(kind, WhileWaiting):
        return kind(of=status)
    return kind(of=status, counted=Returns() if groups is None else GroupTotals(groups))


def _require_beside(own: Beside, log: Log, options: AuditOptions) -> None:
    """A scheme's status that looks at more than amounts needs a log that says it."""
    name = STATUSES.name_of(own)
    given = SAID_BY.get(own.part)
    if given is None:
        raise BadParameter(
            f"the scheme's status is {name}, which needs {own.needs}, and no column says that: "
            "choose another status."
        )
    if isinstance(own, MeanWait | ShareInTime):
        raise BadParameter(
            f"the scheme's status is {name}, which is judged wherever {argument('wait_from')} and "
            f"{argument('wait_to')} are given: leave it out of the scheme."
        )
    if own.part not in log.beside or options.waits:
        raise BadParameter(
            f"the scheme's status is {name}, which needs {own.needs}: say with "
            f"{argument(given)} which column holds it, or choose another status."
        )
    if log.groups is not None:
        raise BadParameter(
            f"the scheme's status is {name}, which is not summed by group: leave the status out of "
            f"the scheme, since {argument(given)} says it already."
        )
    for said in ("judge_requests", "unweighted"):
        if getattr(options, said):
            raise BadParameter(
                f"{argument(said)} is already said by the scheme's status, {name}: leave one out."
            )
    if isinstance(own, OfRequests) and options.scheme.status.negated:
        raise BadParameter(
            f"the scheme says that less is better, and {argument(given)} that amounts are wanted: "
            "leave one out."
        )


def _refuse_twice(status: Status, options: AuditOptions) -> None:
    """A scheme's status that is no plain sum of amounts cannot be set against anything more."""
    if options.scheme is None:
        return
    against = {
        "out_of": options.out_of is not None,
        "wait_from": options.waits,
        "stock": options.stock,
        "asked": options.asked is not None or options.requests is not None,
    }
    per_unit = options.request_status is not None and options.request_status.per_unit
    sized = any(isinstance(one, PerEntitlement) for one in _inner(status))
    plain = status.is_sum and status.in_amounts and not sized
    named = [name for name, given in against.items() if given]
    if named and (sized or not (plain or per_unit) or (named == ["asked"] and status.negated)):
        raise BadParameter(
            f"the scheme's status is {status.describe()}, which {argument(named[0])} cannot be set "
            "beside: leave the status out of the scheme, or leave the other out."
        )
    if options.entitlement is not None and not status.is_amount:
        raise BadParameter(
            f"the scheme's status is {status.describe()}, which is not an amount to be taken per "
            f"unit of {argument('entitlement')}: leave one out, or name per_entitlement inside it."
        )
    if options.entitlement is not None and sized:
        raise BadParameter(
            f"the scheme's status says already what each is entitled to: leave "
            f"{argument('entitlement')} out, or the status out of the scheme."
        )


def _inner(status: Status | None) -> Iterator[Status]:
    """A status, that of which it is a function, and so on."""
    while status is not None:
        yield status
        status = getattr(status, "of", None)
