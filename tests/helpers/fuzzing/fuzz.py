"""Many trials, a table of what became of them, and the smallest of each kind that went wrong."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

from fuzzing.commands import trials_of
from fuzzing.runner import BAD, GOOD, Outcome, Runner
from fuzzing.trial import Trial

MAX_SMALLER = 60  # tries to make a failing trial smaller
MAX_SHRINKING = 60.0  # seconds for all of them


class EvenDice(HypothesisProvider):
    """Every choice as likely as the others: by itself Hypothesis prefers what is simple.

    What is simple has been tried; and nothing is tried again with a small change.
    """

    def draw_integer(
        self, min_value: int | None = None, max_value: int | None = None, **more: Any
    ) -> int:
        if min_value is None or max_value is None:
            return super().draw_integer(min_value, max_value, **more)
        assert self._random is not None
        return self._random.randint(min_value, max_value)


class _EnoughError(BaseException):
    """There is no time for more; not an error that Hypothesis would look into."""


@dataclass
class Summary:
    """How often each verb came to each outcome, and a smallest trial for each failure."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: dict[str, tuple[Trial, Outcome]] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, trial: Trial, outcome: Outcome) -> None:
        self.counts[trial.verb, outcome.kind] += 1
        if outcome.bad:
            self.times[outcome.signature] += 1
            known = self.failures.get(outcome.signature)
            if known is None or trial.size() < known[0].size():
                self.failures[outcome.signature] = (trial, outcome)

    def table(self) -> str:
        kinds = [*GOOD, *BAD]
        verbs = sorted({verb for verb, _ in self.counts})
        rows = [["", *kinds, "all"]]
        for verb in (*verbs, "all"):
            some = [
                sum(n for (v, k), n in self.counts.items() if k == kind and verb in (v, "all"))
                for kind in kinds
            ]
            rows.append([verb, *(f"{n:,}" if n else "·" for n in some), f"{sum(some):,}"])
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if k else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        )

    def complaints(self) -> str:
        """Every kind of failure with the smallest trial that shows it."""
        parts = []
        for signature, (trial, outcome) in sorted(self.failures.items()):
            said = outcome.said.strip()[:700]
            parts.append(
                f"{signature} ({self.times[signature]} times)\n{trial.describe()}\n  → {said}"
            )
        return "\n\n".join(parts)


def fuzz(
    tries: int,
    seed: int,
    runner: Runner,
    shell: bool = False,
    verbs: Sequence[str] = (),
    each: Callable[[Summary, Trial, Outcome], None] | None = None,
    most_seconds: float = math.inf,
) -> Summary:
    """Try so many commands, the same ones for the same seed, or as many as there is time for."""
    summary, started = Summary(), time.monotonic()
    run = runner.run_in_shell if shell else runner.run
    AVAILABLE_PROVIDERS["even dice"] = EvenDice

    @hypothesis.seed(seed)
    @hypothesis.settings(
        backend="even dice",
        max_examples=tries,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(trials_of(verbs))
    def attempt(trial: Trial) -> None:
        hypothesis.assume(not shell or typed(trial))  # such a trial does not count
        outcome = run(trial)
        summary.add(trial, outcome)
        if each is not None:
            each(summary, trial, outcome)
        if time.monotonic() - started > most_seconds:
            raise _EnoughError

    with contextlib.suppress(_EnoughError):
        attempt()
    shrinking = time.monotonic()
    for signature, (trial, outcome) in summary.failures.items():
        late = time.monotonic() - shrinking > MAX_SHRINKING
        if outcome.kind not in ("hang", "crash") and not shell and not late:
            summary.failures[signature] = smallest(trial, outcome, runner)
    summary.seconds = time.monotonic() - started
    return summary


def typed(trial: Trial) -> bool:
    """Whether a shell can say it; a device is left out, as a mistake might replace it."""
    said = " ".join(trial.arguments)
    return trial.verb != "load" and "\0" not in said and "device-" not in said and len(said) < 10**5


def smallest(trial: Trial, outcome: Outcome, runner: Runner) -> tuple[Trial, Outcome]:
    """The trial with as much as possible left out that fails in the same way."""
    left = MAX_SMALLER
    progress = True
    while progress:
        progress = False
        for one in trial.smaller():
            left -= 1
            if left < 0:
                return trial, outcome
            found = runner.run(one)
            if found.signature == outcome.signature:
                trial, outcome, progress = one, found, True
                break
    return trial, outcome
