"""`evenhand monitor`: watch decisions as they happen."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.output import say
from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.monitor import Monitor
    from evenhand.monitor.json_reader import Reader
    from evenhand.monitor.monitor import Findings

SAVED_EVERY = 5.0  # seconds


def monitor_command(
    name: Annotated[
        list[str] | None,
        typer.Option(help="A stakeholder to watch over (may be repeated)."),
    ] = None,
    roster: Annotated[
        str | None,
        typer.Option(
            help="Or a file of them, one name per row, with from and until if they come and go."
        ),
    ] = None,
    stakeholder: Annotated[str, typer.Option(help="The key that says who received.")] = (
        "stakeholder"
    ),
    time_key: Annotated[
        str, typer.Option("--time", help="The key of the time: ISO dates, or numbers.")
    ] = "time",
    amount: Annotated[
        str | None, typer.Option(help="The key that says how much. Without it each event counts 1.")
    ] = None,
    id_key: Annotated[
        str | None,
        typer.Option("--id", help="The key of an event's id, by which repeated events are known."),
    ] = None,
    entitlement: Annotated[
        str | None,
        typer.Option(
            help="A file of two columns: name and entitlement. Statuses are then per unit of it, "
            "and each counts by it."
        ),
    ] = None,
    unweighted: Annotated[
        bool,
        typer.Option("--unweighted", help="With --entitlement: count all alike, large and small."),
    ] = False,
    lower_is_better: Annotated[
        bool,
        typer.Option(
            "--lower-is-better",
            help="The amounts are harms, refusals or waits: whoever has more is worse off.",
        ),
    ] = False,
    each_event: Annotated[
        bool, typer.Option("--each-event", help="Assess every time point (the default).")
    ] = False,
    every: Annotated[
        str | None,
        typer.Option(
            help="Assess every period, or every N time points.",
            metavar="day|week|month|quarter|year|N",
        ),
    ] = None,
    after_each: Annotated[
        float | None,
        typer.Option(help="Assess whenever another AMOUNT was given out.", metavar="AMOUNT"),
    ] = None,
    at_end: Annotated[
        bool, typer.Option("--at-end", help="Assess once, when the input ends.")
    ] = False,
    welfare: Annotated[
        str | None, typer.Option(help="Fairness at a time point (default: log_nash).")
    ] = None,
    temporal: Annotated[
        str | None, typer.Option(help="Fairness over time (default: mean).")
    ] = None,
    scheme: Annotated[Path | None, typer.Option(help="A scheme file instead.")] = None,
    newcomers: Annotated[
        str | None,
        typer.Option(
            help="Where those begin who join later, by the roster's dates (default: mean).",
            metavar="mean|zero|least",
        ),
    ] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(
            help="Distance from the mean that is ignored: an amount, or a share of the mean such "
            "as 5%."
        ),
    ] = None,
    max_unfairness: Annotated[
        str | None,
        typer.Option(
            help="Alert when anybody is further on the worse side of the mean than this: an "
            "amount, or a share of the mean such as 10%."
        ),
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="Alert when the score is below this.")
    ] = None,
    alarm: Annotated[
        float | None,
        typer.Option(
            help="Raise an alarm when somebody is behind by more than a fair lottery explains, "
            "with at most this probability of ever raising a false one, such as 0.05.",
            metavar="PROBABILITY",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(help="With --alarm: the roster's column of groups, watched too."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="Continue from this file if it exists, and save to it on the way."),
    ] = None,
    over: Annotated[
        bool,
        typer.Option(
            "--over",
            help="With --state: the end of the input is the end of the events, so judge what is "
            "still open.",
        ),
    ] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Stop at a bad line. By default it is left out and counted."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--alerts-only", help="Write only the assessments with an alert.")
    ] = False,
) -> None:
    """Read events as JSON lines and write a JSON line for each assessment, then a summary.

    Example: tail -f events.jsonl | evenhand monitor --name A --name B --max-unfairness 10

    Late: an event earlier than one before it counts at the present time point. Repeated: an event
    whose --id was among the last 100,000 does not count. Exits with 1 if there was an alert or an
    alarm.
    """
    # The products here are of 16 by 16 numbers: threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from evenhand._util.files import require_place
    from evenhand.log.options import SchemeOptions
    from evenhand.monitor.json_reader import Keys
    from evenhand.monitor.state_file import load_state, make_monitor, save_state

    if sys.stdin is None:
        raise BadParameter(
            "standard input is closed: send events into it, as with `tail -f events.jsonl | "
            "evenhand monitor …`."
        )
    if state is not None:
        require_place(state, "state")
    options = SchemeOptions(
        each_event=each_event,
        every=every,
        after_each=after_each,
        at_end=at_end,
        welfare=welfare,
        temporal=temporal,
        scheme=scheme,
        lower_is_better=lower_is_better,
        unweighted=unweighted,
        newcomers=newcomers,
        tolerance=tolerance,
        max_unfairness=max_unfairness,
        min_score=min_score,
        alarm=alarm,
    )
    watcher, reader = make_monitor(
        options,
        names=tuple(name or ()),
        roster=roster,
        entitlement=entitlement,
        group=group,
        keys=Keys(stakeholder, time_key, amount, id_key),
        strict=strict,
    )
    if state is not None:
        load_state(watcher, reader, state)
    saved = time.monotonic()
    with _stoppable() as stopped, _loaded_for_good():
        for lines in _chunks(stopped):
            _write(watcher.found(reader.read(lines)), quiet)
            _write_alarms(watcher)
            _say_bad(reader)
            if state is not None and time.monotonic() - saved > SAVED_EVERY:
                save_state(watcher, reader, state)
                saved = time.monotonic()
        reader.refuse_what_never_fits()
        if (state is None or over) and not stopped:
            _write(watcher.found_at_end(), quiet)
            _write_alarms(watcher)
    if state is not None:
        save_state(watcher, reader, state)
    _summarise(watcher, reader)
    if watcher.thresholds.alerts or (watcher.alarms is not None and watcher.alarms.raised):
        raise typer.Exit(1)


@contextlib.contextmanager
def _loaded_for_good() -> Iterator[None]:
    """What is loaded stays: to look through it for garbage again and again is waste.

    Not until Python ends: what reading a roster left behind of DuckDB would complain then.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


@contextlib.contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM end the reading, not the program: what is in hand is done and saved."""
    stopped: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: stopped.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _chunks(stopped: list[int]) -> Iterator[list[bytes]]:
    """Lines as soon as they are there, many at a time when they come fast."""
    rest, source = b"", sys.stdin.fileno()
    while not stopped:
        ready, _, _ = select.select([source], [], [], 0.2)
        if not ready:
            continue
        chunk = os.read(source, 1 << 18)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        if lines:
            yield lines
    if rest and stopped:
        say("stopped in the middle of a line, which was left out.")
    elif rest:
        yield [rest]


def _write(found: list[Findings], only_alerts: bool) -> None:
    for findings in found:
        sys.stdout.buffer.write(findings.encoded(only_alerts))
        for k, alert in findings.alerts.items():
            if alert["alert_begins"]:
                say(f"alert at {findings.times[k]}: {'; '.join(alert['alert'])}.")
    sys.stdout.buffer.flush()


def _write_alarms(watcher: Monitor) -> None:
    import orjson

    for alarm in watcher.new_alarms():
        sys.stdout.buffer.write(orjson.dumps({"alarm": alarm.to_json()}) + b"\n")
        sys.stdout.buffer.flush()
        say(f"alarm at {alarm.time}: {alarm.sentence}.")


def _say_bad(reader: Reader) -> None:
    for sentence in reader.counts.first_bad:
        say(sentence)
    reader.counts.first_bad.clear()


def _summarise(watcher: Monitor, reader: Reader) -> None:
    import orjson

    counts = {k: v for k, v in vars(reader.counts).items() if k != "first_bad"}
    line = {"summary": True, **counts, **watcher.summary()}
    sys.stdout.buffer.write(orjson.dumps(line) + b"\n")
    sys.stdout.buffer.flush()
