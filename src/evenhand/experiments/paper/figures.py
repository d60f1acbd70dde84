"""Section 6 and the appendix: the paper's learning figures, as comparisons of methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.envs import Doughnuts, Environment, GaussianLending, Lending

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
