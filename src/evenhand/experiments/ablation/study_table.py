"""The study as two tables that can be quoted: learning beside simple rules, and what each part is
worth."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._util.bootstrap import interval_title
from evenhand.experiments.ablation.study import ProblemStudy, Trained
from evenhand.experiments.running.reference_scores import Yardstick

LEVELS = (0.95, 0.99)
Row = tuple[str, ...]

TABLES = ("problem", "tables that learn with", "steps", "of the optimum", "to 95%", "to 99%")
PARTS = ("problem", "variant", "final score", "of the optimum", "steps to 95%", "steps to 99%")


def heading_against_rules(seeds: int) -> Row:
    """What stands above `rows_against_rules`."""
    return (
        *("problem", "optimum", "random", "best simple rule", "of the optimum", "steps"),
        f"default FairQCM, mean and {interval_title(seeds)}",
        *("of the optimum", "within 1%", "above the rule"),
    )


def rows_against_rules(studies: Sequence[ProblemStudy]) -> list[Row]:
    """One row per problem: the optimum, the best simple rule and the default, with intervals."""
    rows: list[Row] = []
    for study in studies:
        learned, rule = study.whole or _default(study), study.rules[0]
        mean, (low, high) = float(learned.final.mean()), learned.interval()
        rows.append(
            (
                study.name,
                f"{study.optimum:.3f}",
                f"{study.against.random:.3f}",
                f"{rule.name} {rule.score:.3f} ({rule.interval[0]:.3f} to {rule.interval[1]:.3f})",
                _share(study, rule.score),
                f"{int(learned.steps[-1]):,}",
                f"{mean:.3f} ({low:.3f} to {high:.3f})",
                _share(study, mean),
                "yes" if mean >= study.against.level(0.99) else "no",
                _above(low, high, rule.interval),
            )
        )
    return rows


def rows_of_parts(studies: Sequence[ProblemStudy]) -> list[Row]:
    """One row per problem and variant: where it ends, and how soon it is nearly there for good."""
    rows: list[Row] = []
    for study in studies:
        untrained = float(_default(study).untrained.mean())
        rows.append((study.name, "untrained network", f"{untrained:.3f}", _share(study, untrained)))
        rows[-1] += ("", "")
        for name, found in study.variants.items():
            if isinstance(found, str):
                rows.append((study.name, name, f"the same as “{found}”", "", "", ""))
                continue
            mean, (low, high) = float(found.final.mean()), found.interval()
            reached = (_steps(found, study.against.level(share)) for share in LEVELS)
            scores = f"{mean:.3f} ({low:.3f} to {high:.3f})"
            rows.append((study.name, name, scores, _share(study, mean), *reached))
    return rows


def rows_of_tables(
    found: Mapping[str, Mapping[str, Trained]], against: Mapping[str, Yardstick]
) -> list[Row]:
    """One row per problem and way to learn a table, with the exact scores of where it ends."""
    rows: list[Row] = []
    for name, variants in found.items():
        optimum = against[name].optimum
        assert optimum is not None
        for variant, one in variants.items():
            mean, (low, high) = float(one.final.mean()), one.interval()
            shares = f"{mean / optimum:.1%} ({low / optimum:.1%} to {high / optimum:.1%})"
            reached = (_steps(one, against[name].level(share)) for share in LEVELS)
            rows.append((name, variant, f"{int(one.steps[-1]):,}", shares, *reached))
    return rows


def to_markdown(heading: Row, rows: Sequence[Row]) -> str:
    """A table as it stands in the documentation."""
    lines = [heading, tuple("---" for _ in heading), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def to_csv(heading: Row, rows: Sequence[Row]) -> str:
    """A table for programs to read."""
    text = io.StringIO()
    csv.writer(text).writerows([heading, *rows])
    return text.getvalue()


def to_json(studies: Sequence[ProblemStudy]) -> dict[str, Any]:
    """All numbers that the tables are made of."""
    return {study.name: _study_json(study) for study in studies}


def _study_json(study: ProblemStudy) -> dict[str, Any]:
    return {
        "optimum": study.optimum,
        "random": study.against.random,
        "rules": {one.name: [one.score, *one.interval] for one in study.rules},
        "variants": {
            name: {"steps": found.steps.tolist(), "scores": found.scores.tolist()}
            if isinstance(found, Trained)
            else found
            for name, found in [*study.variants.items(), ("default, its own length", study.whole)]
        },
    }


def _default(study: ProblemStudy) -> Trained:
    found = study.variants["default"]
    assert isinstance(found, Trained)  # it is the first, and so the same as no other
    return found


def _share(study: ProblemStudy, score: float) -> str:
    """Of the optimum; of the way from random to it where scores are negative."""
    if study.optimum > 0:
        return f"{score / study.optimum:.1%}"
    way = (score - study.against.random) / (study.optimum - study.against.random)
    return f"{way:.1%} of the way"


def _above(low: float, high: float, rule: tuple[float, float]) -> str:
    if low > rule[1]:
        return "yes"
    return "no" if high < rule[0] else "intervals overlap"


def _steps(found: Trained, level: float) -> str:
    """The median over seeds, those that did not reach it counted last; how many did."""
    reached = found.steps_to(level)
    known = sorted(np.inf if steps is None else steps for steps in reached)
    middle = known[(len(known) - 1) // 2]
    number = sum(steps is not None for steps in reached)
    median = "—" if np.isinf(middle) else f"{int(middle):,}"
    return f"{median} ({number} of {len(reached)})"
