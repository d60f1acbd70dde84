"""The paper made anew: its figures by name, or all of them with every claim and theorem checked.

Figure 1 is an audit; the learning figures of section 6 and the appendix are comparisons of methods.
Everything is saved as it goes: what was stopped goes on from there.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand._util.files import write_whole
from evenhand.auditing import audit
from evenhand.auditing.answer import Answer
from evenhand.envs import Doughnuts, Environment, GaussianLending, Lending
from evenhand.lab.claims import CLAIMS, Claim, Finding
from evenhand.lab.compare_methods import MethodComparison, compare
from evenhand.lab.runs import versions
from evenhand.lab.theorems import THEOREMS, Theorem

MONTHS = ("2021-01-31", "2021-02-28", "2021-03-31", "2021-04-30")
PROCESSES: dict[str, tuple[tuple[str, str, int], ...]] = {
    "A first, then B": tuple(
        (month, country, 20_000) for month, country in zip(MONTHS, "AABB", strict=True)
    ),
    "side by side": tuple((month, country, 10_000) for month in MONTHS for country in "AB"),
}


def audit_shipments(rows: Iterable[tuple[str, str, int]], **question: Any) -> Answer:
    """Judge a log of shipments: when, to whom, how many."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE log (day DATE, country VARCHAR, doses BIGINT)")
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", [list(row) for row in rows])
        columns: dict[str, Any] = {"stakeholder": "country", "time": "day", "amount": "doses"}
        return audit(connection.table("log"), **columns, welfare="parity", **question)


def audits() -> dict[str, Answer]:
    """Both processes, assessed every month."""
    return {name: audit_shipments(rows, every="month") for name, rows in PROCESSES.items()}


CLAIM = "Both result in an equal distribution at the end; monthly, the first favours A for a time."


def check(found: dict[str, Answer]) -> Finding:
    """Whether the audits say what the caption of Figure 1 says."""
    first, second = found.values()
    at_end = [max(abs(one.final_unfairness) for one in a.by_stakeholder) for a in (first, second)]
    behind = [a.overall.unequal_assessments for a in (first, second)]
    favoured = max(first.by_stakeholder, key=lambda one: one.overall_unfairness).name
    held = at_end == [0, 0] and behind[1] == 0 < behind[0] and favoured == "A"
    months = first.overall.assessments
    return Finding(
        held,
        f"distance from the mean at the end: {at_end[0]:,.0f} and {at_end[1]:,.0f}; somebody is "
        f"behind in {behind[0]} and {behind[1]} of {months} months; mean gap "
        f"{-first.score:,.0f} and {abs(second.score):,.0f} doses; the first favours {favoured}",
    )


SHOP = Doughnuts(num_stakeholders=5, horizon=100, presence=0.8)
SMALL_SHOP = Doughnuts(num_stakeholders=3, horizon=12, presence=0.8)


@dataclass(frozen=True)
class FigurePart:
    """Methods under one recipe, for as many steps each."""

    recipe: str
    methods: tuple[str, ...]
    steps: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    drawn: bool = True  # whether its curves are in the chart, or in the tables alone


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, made anew."""

    title: str
    environment: Environment
    deep: bool
    parts: Mapping[str, FigurePart]


def folder_of(part: str) -> str:
    """The name of the folder for a part's files."""
    return "".join(c if c.isalnum() else "-" for c in part)


def _deep(environment: Environment, methods: tuple[str, ...]) -> dict[str, FigurePart]:
    """The paper's methods, ten runs of 1,000 episodes each; beside them FairQCM at its best."""
    steps = 1000 * environment.horizon
    return {
        "paper": FigurePart("paper", methods, steps),
        "best": FigurePart("best", ("fairqcm",), steps),
    }


def _ablation(environment: Environment, batch: int, plain: dict[str, int]) -> dict[str, FigurePart]:
    """FairQCM with the scripts' mistakes or a small batch; a rival with as large a batch as its."""
    steps, fair = 1000 * environment.horizon, ("fairqcm",)
    rival = "full" if isinstance(environment, Doughnuts) else "min"
    return {
        "with the scripts' mistakes": FigurePart("paper", fair, steps, {"script_mistakes": True}),
        "small batch": FigurePart("paper", fair, steps, {"batch": batch}),
        "large batch, nothing imagined": FigurePart("paper", (rival,), steps, plain),
    }


FIGURES: dict[str, Figure] = {
    "tabular": Figure(
        "Tabular Q-learning for resource allocation",
        SMALL_SHOP,
        False,
        {
            "paper": FigurePart(
                "paper", ("fairqcm", "full", "min", "reset", "oracle", "random"), 100_000
            ),
            "best": FigurePart("best", ("fairqcm", "full"), 100_000),
            # Imagined memories buy updates, 9 per step for FairQCM: Full needs 9 times the steps.
            "as many updates": FigurePart("paper", ("full",), 900_000, drawn=False),
        },
    ),
    "doughnuts": Figure(
        "Resource allocation",
        SHOP,
        True,
        _deep(SHOP, ("fairqcm", "full", "min", "reset", "rnn", "oracle", "random")),
    ),
    "lending": Figure(
        "Simulated lending",
        Lending(),
        True,
        _deep(Lending(), ("fairqcm", "full", "min", "rnn")),
    ),
    "lending-gaussian": Figure(
        "Simulated lending with Gaussian changes of credit",
        GaussianLending(),
        True,
        _deep(GaussianLending(), ("fairqcm", "full", "min")),
    ),
    "doughnuts-ablation": Figure(
        "Resource allocation: what FairQCM owes to what",
        SHOP,
        True,
        _ablation(SHOP, 64, {"batch": 2048, "capacity": 6400}),
    ),
    "lending-ablation": Figure(
        "Simulated lending: what FairQCM owes to what",
        Lending(),
        True,
        _ablation(Lending(), 64, {"batch": 512, "capacity": 8000}),
    ),
}


QUICK = 10  # a quick run has as many times fewer steps
QUICK_SEEDS = 3
ALL = ("tabular", "lending", "lending-gaussian", "doughnuts")  # the paper's, cheapest first

# What each method took for ten seeds on two cores, in seconds: only to guess what is left.
COSTS: Mapping[str, Mapping[str, float]] = {
    "tabular": {"fairqcm": 12, "full": 12, "min": 10, "reset": 10},
    "doughnuts": {"fairqcm": 490, "full": 40, "min": 35, "reset": 45, "rnn": 570, "best": 190},
    "lending": {"fairqcm": 55, "full": 18, "min": 18, "rnn": 210, "best": 600},
    "lending-gaussian": {"fairqcm": 50, "full": 16, "min": 16, "best": 500},
}

# Called with figure, part, method, steps done, of how many, score.
Listener = Callable[[str, str, str, int, int, float], None]


@dataclass
class Remaining:
    """How long is left: what is still to do, at the pace of what was done."""

    names: tuple[str, ...]
    seeds: int
    quick: bool
    shares: dict[tuple[str, str, str], float] = field(default_factory=dict)
    trained: float = 0.0  # the cost of what was done here, as against found done
    started: float = field(default_factory=lambda: time.monotonic())

    def __post_init__(self) -> None:
        self.costs = {
            (name, part, method): self._cost(name, part, method)
            for name in self.names
            for part, asked in FIGURES[name].parts.items()
            for method in asked.methods
            if method not in ("oracle", "random")
        }

    def _cost(self, name: str, part: str, method: str) -> float:
        costs = COSTS.get(name, {})
        cost = costs.get("best" if part == "best" else method, 60.0)
        steps = 9 if part == "as many updates" else 1
        # Half of the cost of a short run is to compile it.
        return cost * steps * (self.seeds / 10) * (2 / QUICK if self.quick else 1)

    def moved(self, name: str, part: str, method: str, share: float) -> None:
        key = (name, part, method)
        before = self.shares.get(key)
        self.shares[key] = share
        if before is not None and share > before:  # the first word may be of an earlier run
            self.trained += (share - before) * self.costs.get(key, 0.0)

    @property
    def share(self) -> float:
        whole = sum(self.costs.values())
        return sum(self.costs.get(k, 0.0) * v for k, v in self.shares.items()) / whole

    @property
    def seconds(self) -> float:
        left = (1.0 - self.share) * sum(self.costs.values())
        pace = 1.0
        if self.trained > 5.0:
            pace = (time.monotonic() - self.started) / self.trained
        return left * pace


@dataclass(frozen=True, eq=False)
class Reproduction:
    """What came of the paper: audits, theorems, figures, and a finding for each claim."""

    audits: dict[str, Answer]
    theorems: list[tuple[Theorem, Finding]]
    figures: dict[str, dict[str, MethodComparison]]
    about: dict[str, Any]

    @property
    def claims(self) -> list[tuple[str, Claim, Finding]]:
        """Every claim of the experiments, the figure it belongs to, and what was found."""
        first = Claim("Figure 1", CLAIM, lambda _: check(self.audits))
        found = [("figure-1", first, check(self.audits))]
        for name, parts in self.figures.items():
            found += [(name, claim, claim.check(parts)) for claim in CLAIMS.get(name, ())]
        return found

    def to_json(self) -> dict[str, Any]:
        return {
            **self.about,
            "claims": [
                {"figure": name, "where": claim.where, "says": claim.says, **_found(finding)}
                for name, claim, finding in self.claims
            ],
            "theorems": [
                {"where": one.where, "says": one.says, **_found(finding)}
                for one, finding in self.theorems
            ],
            "figures": {
                name: {part: one.to_json() for part, one in parts.items()}
                for name, parts in self.figures.items()
            },
        }


def _found(finding: Finding) -> dict[str, Any]:
    interval = None if finding.interval is None else list(finding.interval)
    return {"held": finding.held, "measured": finding.measured, "interval": interval}


def reproduce_figure(
    name: str,
    folder: Path,
    seeds: int = 10,
    quick: bool = False,
    on_progress: Listener | None = None,
    **options: Any,
) -> dict[str, MethodComparison]:
    """The comparisons of a figure, by part; finished ones are read from the folder."""
    asked: Figure = FIGURES[name]
    found = {}
    for part, one in asked.parts.items():
        found[part] = compare(
            asked.environment,
            list(one.methods),
            recipe=one.recipe,
            seeds=seeds,
            steps=one.steps // (QUICK if quick else 1),
            deep=asked.deep,
            settings=one.settings,
            out=folder / name / folder_of(part),
            progress=None if on_progress is None else _named(on_progress, name, part),
            **options,
        )
        for method, result in found[part].methods.items():
            if on_progress is not None:
                # Those that an earlier call had finished are reported only here.
                on_progress(name, part, method, 1, 1, float(result.final.mean()))
    answer = {part: one.to_json() for part, one in found.items()}
    write_whole(folder / name / "results.json", json.dumps(answer, indent=2).encode())
    return found


def _named(on_progress: Listener, name: str, part: str) -> Callable[[str, int, int, float], None]:
    return lambda method, done, of, score: on_progress(name, part, method, done, of, score)


def reproduce_all(
    folder: Path,
    seeds: int = 10,
    quick: bool = False,
    on_progress: Listener | None = None,
    on_stage: Callable[[str], None] = lambda _: None,
    **options: Any,
) -> Reproduction:
    """Everything in the paper that can be run, checked or counted."""
    started = time.time()
    on_stage("Figure 1, as an audit")
    found = audits()
    theorems = []
    for theorem in THEOREMS:
        on_stage(f"{theorem.where}: {theorem.says}")
        theorems.append((theorem, theorem.check()))
    figures = {
        name: reproduce_figure(name, folder, seeds, quick, on_progress, **options) for name in ALL
    }
    training = sum(
        one.seconds + one.compile_seconds
        for parts in figures.values()
        for comparison in parts.values()
        for one in comparison.methods.values()
    )
    about = {
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(started)),
        "seconds": round(time.time() - started, 1),
        "training_seconds": round(training, 1),
        "seeds": seeds,
        "quick": quick,
        "machine": machine(),
        "versions": versions(),
    }
    return Reproduction(found, theorems, figures, about)


def machine() -> str:
    """The processor and how many cores of it may be used."""
    from evenhand.lab.executors import cores

    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            models = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
        name = models[0] if models else name
    return f"{name}, {len(cores())} cores"
