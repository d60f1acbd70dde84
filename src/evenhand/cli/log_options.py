"""How a log is read and judged, by the verbs that do so as `evenhand audit` does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.errors import BadParameter, visible

if TYPE_CHECKING:
    from evenhand.decide.world_from_log import WorldOfLog
    from evenhand.log.options import AuditOptions

READING = (
    *("stakeholder", "time", "amount", "cumulative", "asked", "requests", "group", "entitlement"),
    *("requests_stakeholder", "requests_time", "requests_table", "time_unit", "decimal"),
    *("missing", "sheet", "header_row", "wide", "time_from_name", "merge_names"),
    *("time_format", "encoding", "table", "engine", "roster", "newcomers", "only", "exclude"),
    *("where", "by", "since", "until", "each_event", "every", "after_each", "when", "at_end"),
    *("welfare", "temporal", "scheme", "lower_is_better", "unweighted", "judge_requests"),
)
SCORED_EPISODES = 1000  # that the score of a rule is the mean of
# Of a log that is learned from; its scheme is that of the learner.
LEARNING = tuple(name for name in READING if name != "scheme")


def read_options(
    verb: str, logs: Sequence[str], given: Mapping[str, Any], as_json: bool
) -> AuditOptions:
    """The options as the library takes them; what is missing is asked for with what there is.

    Args:
        verb: The command that was given.
        logs: The logs as they were named.
        given: The options of `READING`, and any others of an audit, by name.
        as_json: Whether a program reads the output.
    """
    from evenhand.log.layout import default_columns
    from evenhand.log.options import AuditOptions

    named = list(given["table"] or ())
    if len(named) > len(logs):
        enough = "once is enough for one log" if len(logs) == 1 else "once for each log"
        raise BadParameter(f"--table is given {len(named)} times: {enough}.")
    tables = _tables_of(logs, named)
    given = {**given, **default_columns(logs, given)}
    _require_columns(verb, logs, {**given, "table": tables[0]}, as_json)
    group = given["group"]
    return AuditOptions(
        **{
            **given,
            "stakeholder": given["stakeholder"] or "",
            "time": given["time"] or "",
            "table": tables if len(logs) == 2 else tables[0],
            "group": group[0] if group and len(group) == 1 else group or None,
            "missing": given["missing"] or (),
            "only": given["only"] or (),
            "exclude": given["exclude"] or (),
        }
    )


def _tables_of(logs: Sequence[str], given: list[str]) -> list[str | None]:
    """The table of each log that is in a database: one for all of them, or one each."""
    from evenhand.log.layout import is_address

    stored = [is_address(log) for log in logs]
    if not any(stored):
        return [*given, None, None][: len(logs)]  # refused where the log is opened
    rest = iter(given * sum(stored) if len(given) == 1 else given)
    return [next(rest, None) if inside else None for inside in stored]


def files_read(logs: Sequence[str], others: Iterable[Any]) -> list[str]:
    """The files that a command reads, which it must not write over.

    Args:
        logs: The logs as they were named.
        others: The files that options name, where they do.
    """
    from evenhand.log.files import matching_files
    from evenhand.log.layout import FILES, is_address, read_address

    read = [str(file) for file in others if file is not None]
    for log in logs:
        if is_address(log):
            address = read_address(log)
            read += [address.database] if address.scheme in FILES else []
        else:
            read += [log, *matching_files(log)]
    return read


def _require_columns(
    verb: str, logs: Sequence[str], given: Mapping[str, Any], as_json: bool
) -> None:
    """Refuse to read a log of which nothing says who received, or when."""
    from evenhand.cli.first_look import refuse_unnamed

    wide = given["wide"]
    no_name = given["stakeholder"] is None and wide != "stakeholder"
    times = [given.get(name) for name in ("time", "wait_from", "wait_to")]
    timed = given["time_from_name"] or wide == "time" or times != [None, None, None]
    if no_name or not timed:
        columns = {name: given[name] for name in ("stakeholder", "time", "amount", "entitlement")}
        columns["group"] = next(iter(given["group"] or ()), None)
        refuse_unnamed(verb, logs, given, columns, no_name, as_json)


def is_log(name: str) -> bool:
    """Whether what is to be learned is a log, and not an environment by its name or class."""
    from evenhand.log.layout import is_address

    if os.path.isfile(name) or is_address(name):
        return True
    return ":" not in name and (bool(Path(name).suffix) or any(sign in name for sign in "*?["))


def learned_world(
    log: str,
    reading: dict[str, Any],
    as_json: bool,
    block: str | None,
    horizon: int | None,
    **others: Any,
) -> WorldOfLog:
    """The environment that a log makes.

    Args:
        log: The log as it was named.
        reading: The options of `LEARNING`, and the scheme.
        as_json: Whether a program reads the output.
        block: How long a block is.
        horizon: How many decisions an episode has.
        **others: Options of other environments, which a log has no use for.
    """
    for option, value in others.items():
        if value is not None:
            raise BadParameter(
                f"--{option} is for an environment, and this is a log, which says that: leave it "
                "out."
            )
    from evenhand.decide.world_from_log import world_of_log

    return world_of_log(log, read_options("train", [log], reading, as_json), block, horizon)


def world_summary(made: WorldOfLog) -> dict[str, Any]:
    """What a world was made of, and what the rule scores there that needs no learning."""
    from evenhand.decide.policies import rule_for
    from evenhand.lab.reference_scores import sampled
    from evenhand.problem.problem import Problem

    world = made.world
    rule = rule_for(world, "least_served")
    assert rule is not None
    problem = Problem(world, world.default_scheme(), rule.memory())
    score = float(sampled(problem, rule, episodes=SCORED_EPISODES).score)
    return {
        "log": made.label,
        "describe": made.describe(),
        "notes": list(made.notes),
        "blocks": len(world.blocks),
        "horizon": world.horizon,
        "scheme": world.default_scheme().describe(),
        "least_served": score,
    }


def print_world(about: Mapping[str, Any], out: Path | None) -> None:
    """The same for people."""
    print(f"\nLearned from {visible(about['describe'])}")
    print(f"In that world least_served scores {about['least_served']:,.3f}.")
    for note in about["notes"]:
        print(f"- {visible(note)}")
    if out is not None:
        print(
            f"Judge it on what came later: `evenhand replay {visible(about['log'])} … --since DATE "
            f"--rule {out}`."
        )


def refuse_reading(name: str, reading: Mapping[str, Any]) -> None:
    """Refuse options that say how a log is read, where there is none.

    Args:
        name: The environment that was named.
        reading: The options of `LEARNING`, by name.
    """
    quiet: tuple[Any, ...] = (None, "utf-8", "stakeholder", [], ())
    given = (one for one, value in reading.items() if value is not False and value not in quiet)
    for option in given:  # a 0 that was given is not False
        raise BadParameter(
            f"--{option.replace('_', '-')} says how a log is read, and {name} is an environment: "
            "leave it out, or name the file of a log."
        )
