"""The state of a monitor on disk, and a monitor made from options."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import orjson

from evenhand._util.files import read_file, write_whole
from evenhand._util.saved import SavedRecord, parse_json, reading_saved
from evenhand._util.wording import short_repr
from evenhand.auditing.chance.nulls import OddsOverTime
from evenhand.auditing.questions import question_of
from evenhand.errors import BadFile, BadParameter, CannotWrite, argument
from evenhand.fairness.status import PerEntitlement, Status, WithCredit, read_beside
from evenhand.log import people as entitling
from evenhand.log.history import Roster
from evenhand.log.options import SchemeOptions
from evenhand.log.people import read_roster
from evenhand.monitor.json_reader import REMEMBERED_IDS, Counts, Keys, Reader
from evenhand.monitor.monitor import Alarms, Monitor, scheme_in_words

# A monitor's state as a file, so that it can stop and go on. Written whole or not at all.
#
# The file is JSON: numbers keep every digit, and nothing in it can run.

FORMAT = 2  # 1 was that of evenhand 0.1.0
KIND = "monitor state"
MOST_BYTES = 1 << 28  # its ids are all that can be long


def save_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> None:
    """Write all that is needed to go on as if the monitor had never stopped."""
    state = {
        "format": FORMAT,
        "watches": _watches(monitor),
        "monitor": _flat(_own_snapshot(monitor)),
        "reader": reader.snapshot(),
    }
    try:
        content = orjson.dumps(state)
    except TypeError:  # from a file that somebody changed: nothing that is counted gets so large
        raise CannotWrite(
            f"{path} cannot be written, as a whole number in it has more than 64 bits: begin with "
            "a new state."
        ) from None
    write_whole(path, content)


def load_state(monitor: Monitor, reader: Reader, path: str | os.PathLike[str]) -> bool:
    """Go on from a saved state; False where there is none yet."""
    if not os.path.exists(path):
        return False
    content = read_file(path, MOST_BYTES, f"a {KIND}")
    state = SavedRecord(parse_json(content, path, KIND), path)
    if "format" not in state.values:
        raise BadFile(f"{path} is not the saved state of a monitor: name another file.")
    if state.value("format") != FORMAT:
        raise BadFile(
            f"{path} was saved by another version of evenhand (its format is "
            f"{short_repr(state.value('format'))}, and this version reads {FORMAT}): start with a "
            "new file."
        )
    watches, own = state.value("watches"), _watches(monitor)
    if isinstance(watches, dict) and watches != own:
        before, now = watches.pop("alarm", None), own.pop("alarm", None)
        if watches == own:
            raise BadFile(
                f"{path} was saved by a monitor with {_alarm_in_words(before)}, and this one has "
                f"{_alarm_in_words(now)}: evidence for one is none for the other, so start with a "
                "new file."
            )
    if watches != own:
        raise BadFile(
            f"{path} was saved by a monitor that watched something else (another scheme, question "
            "or list of stakeholders): start with a new file."
        )
    # Both are read before either goes on: a state that is refused changes nothing.
    with reading_saved(path, KIND):
        reader_state = _reader_state(state.table("reader"))
        snapshot = _monitor_state(monitor, state)
    monitor.resume(snapshot)
    reader.resume(reader_state)
    return True


def _reader_state(saved: SavedRecord) -> dict[str, Any]:
    """What a reader goes on from, each part of its type."""
    saved.require_only(("counts", "ids", "plain_numbers", "latest"))
    counts, ids = saved.table("counts"), saved.items("ids")
    names = [name for name in vars(Counts()) if name != "first_bad"]
    counts.require_only(names)
    if len(ids) > REMEMBERED_IDS or not all(map(_can_be_id, ids)):
        raise BadFile(f"'reader.ids' must be at most {REMEMBERED_IDS:,} numbers and texts.")
    plain, latest = saved.value("plain_numbers"), saved.value("latest", None)
    return {
        "counts": {name: counts.whole(name) for name in names},
        "ids": ids,
        "plain_numbers": None if plain is None else saved.flag("plain_numbers"),
        "latest": None if latest is None else saved.number("latest"),
    }


def _monitor_state(monitor: Monitor, state: SavedRecord) -> dict[str, Any]:
    """What a monitor goes on from, in the form of a snapshot of the kind that was saved."""
    saved, fresh = state.table("monitor"), _own_snapshot(monitor)
    stream = saved.items("stream")
    begun = bool(stream and isinstance(stream[0], list) and stream[0] and stream[0][-1] is True)
    counts, status, filtered, _ = fresh["stream"]
    fold = monitor.stream.scheme.aggregation.init(len(monitor.judged_names)) if begun else ()
    # Before the first event the latest is at −∞, which JSON does not have.
    last_at = saved.number("last_at") if saved.flag("begun") else fresh["last_at"]
    template = {**fresh, "stream": (counts, status, filtered, fold)}
    found = _like(template, {**saved.values, "last_at": last_at}, "monitor")
    return {**found, "watches": monitor.snapshot()["watches"]}


def _own_snapshot(monitor: Monitor) -> dict[str, Any]:
    """A snapshot without what is watched, which a file says in words of its own."""
    return {name: part for name, part in monitor.snapshot().items() if name != "watches"}


def _watches(monitor: Monitor) -> dict[str, Any]:
    """What must be the same when the monitor goes on."""
    watched: dict[str, Any] = {
        "scheme": scheme_in_words(monitor.stream.scheme),
        "stakeholders": list(monitor.names),
    }
    if monitor.alarms is not None:
        watched["alarm"] = monitor.alarms.watches()
    return watched


def _alarm_in_words(alarm: Any) -> str:
    if not isinstance(alarm, dict):
        return "no alarm"
    same = f"an alarm at {short_repr(alarm.get('alpha'))}"
    return f"{same} of {short_repr(alarm.get('groups'))}" if alarm.get("groups") else same


def _flat(value: Any) -> Any:
    """Nested dictionaries and tuples of arrays as JSON has them; NaN becomes null there."""
    if isinstance(value, dict):
        return {name: _flat(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [_flat(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _like(template: Any, value: Any, where: str) -> Any:
    """What `_flat` made flat, in the form of a template; of any other form it is refused."""
    if isinstance(template, dict):
        if not isinstance(value, dict) or value.keys() != template.keys():
            raise _unlike(where, f"a table of {', '.join(template)}")
        return {
            name: _like(inner, value[name], f"{where}.{name}") for name, inner in template.items()
        }
    if isinstance(template, tuple):
        if not isinstance(value, list) or len(value) != len(template):
            raise _unlike(where, f"a list of {len(template)}")
        pairs = enumerate(zip(template, value, strict=True))
        parts = [_like(inner, part, f"{where}.{k}") for k, (inner, part) in pairs]
        return type(template)(*parts) if hasattr(template, "_fields") else tuple(parts)
    if isinstance(template, np.ndarray | np.generic):
        return _array_like(template, value, where)
    if isinstance(template, bool) != isinstance(value, bool) or not isinstance(value, int | float):
        raise _unlike(where, "true or false" if isinstance(template, bool) else "a number")
    if isinstance(template, int) and not isinstance(value, int):
        raise _unlike(where, "a whole number")
    return value


_JSON_OF: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float)}


def _array_like(template: np.ndarray | np.generic, value: Any, where: str) -> np.ndarray:
    dtype, shape, level = template.dtype, template.shape, [value]
    for size in shape:
        if not all(isinstance(one, list) and len(one) == size for one in level):
            raise _unlike(where, f"numbers in the shape {shape}")
        level = [part for one in level for part in one]
    if dtype.kind == "f":  # where a number was not finite yet, JSON has null
        own = np.ravel(template).tolist()
        level = [
            fresh if one is None and not np.isfinite(fresh) else one
            for one, fresh in zip(level, own, strict=True)
        ]
    for one in level:
        if not isinstance(one, _JSON_OF[dtype.kind]) or (dtype.kind != "b") == isinstance(
            one, bool
        ):
            raise _unlike(where, f"of {dtype}, not {short_repr(one)}")
    return np.asarray(level, dtype=dtype).reshape(shape)


def _unlike(where: str, needed: str) -> BadFile:
    return BadFile(f"{where!r} must be {needed}; start with a new file.")


def _can_be_id(one: Any) -> bool:
    """Whether a line of JSON can have it as its id, and a file can hold it."""
    if isinstance(one, int):
        return -(1 << 63) <= one < 1 << 64
    return not isinstance(one, list | dict)


# A monitor from options, and the reader that feeds it.


def make_monitor(
    options: SchemeOptions,
    *,
    names: tuple[str, ...] = (),
    roster: Any = None,
    entitlement: Any = None,
    group: str | None = None,
    keys: Keys = Keys(),
    strict: bool = False,
) -> tuple[Monitor, Reader]:
    """The monitor, and the reader that feeds it.

    Args:
        options: When to look, how to judge, and the limits beyond which there is an alert.
        names: All stakeholders, or else
        roster: a table of them or its path, with columns from and until if they come and go.
        entitlement: What each is entitled to: a mapping, or a table of two columns or its path.
        group: The column of the roster that says to which group each belongs: an alarm is then
            raised for groups too.
        keys: What the parts of an event are called in its JSON object.
        strict: Whether a bad line is an error, or left out and counted.
    """
    if bool(names) == (roster is not None):
        raise BadParameter(
            f"say who is to be watched, with {argument('names')} or with {argument('roster')} (not "
            "both): those who have received nothing yet are in no event."
        )
    people = read_roster(names or roster, keys.stakeholder, group)
    # In the order of an audit, so that the two can be laid side by side.
    ordered = tuple(sorted(people.names))
    status = options.status()
    own = read_beside(status)
    if own is not None:
        raise BadParameter(
            f"the scheme's status needs {own.needs}, which a monitor does not know: choose "
            "another status, or audit a log of the events."
        )
    if options.unweighted and entitlement is None:
        raise BadParameter(
            f"{argument('unweighted')} counts all alike whatever they are entitled to, and nothing "
            f"says what that is: give {argument('entitlement')}, or leave it out."
        )
    shares = None
    if entitlement is not None:
        given = entitling.of_table(entitlement, keys.stakeholder)
        shares = entitling.in_order(given, ordered)
        status = PerEntitlement(tuple(shares.tolist()), not options.unweighted, of=status)
    status = options.directed(status)
    begins = _beginning(options, status, people)
    if begins != "zero":
        status = WithCredit(of=status)
    question = question_of(options)
    scheme = options.schemes(status, question.filter)[0]
    monitor = Monitor(
        scheme,
        ordered,
        question,
        people,
        max_unfairness=options.max_unfairness,
        min_score=options.min_score,
        tolerance=options.tolerance,
        newcomers=begins,
        alarms=_alarms(options, people, ordered, shares, group, status.negated),
    )
    return monitor, Reader(keys, ordered, strict, question.period)


def _beginning(options: SchemeOptions, status: Status, roster: Roster) -> str:
    """Where those begin who join later, as in an audit."""
    if options.newcomers == "by-time":
        raise BadParameter(
            f"{argument('newcomers', 'by-time')} is not watched step by step: choose another rule, "
            "or audit a log of the events."
        )
    if options.newcomers is not None and not roster.first:
        raise BadParameter(
            f"{argument('newcomers')} says where those begin who join later, and nothing says from "
            f"when anybody is there: give {argument('roster')} with a column 'from', or leave it "
            "out."
        )
    if not roster.first or not status.is_sum:  # nobody joins, or nobody can be given a beginning
        return "zero"
    return options.newcomers or "mean"


def _alarms(
    options: SchemeOptions,
    people: Roster,
    names: tuple[str, ...],
    shares: np.ndarray | None,
    group: str | None,
    less_is_better: bool,
) -> Alarms | None:
    """What raises alarms, if any are asked for."""
    if options.alarm is None:
        if group is not None:
            raise BadParameter(
                f"{argument('group')} is for alarms: say with {argument('alarm')} how often one "
                "may be false, or leave it out."
            )
        return None
    if group is not None and not all(name in people.groups for name in names):
        raise BadParameter(
            f"{argument('group')} is {group!r}, and the roster does not say there of everyone to "
            "which group they belong: fill it in, or leave it out."
        )
    groups = None if group is None else [people.groups[name] for name in names]
    odds = OddsOverTime(names, shares, people)
    return Alarms(names, options.alarm, odds, groups, less_is_better)
