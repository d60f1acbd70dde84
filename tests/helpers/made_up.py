"""Comparisons with curves that a test chooses."""

from __future__ import annotations

import numpy as np

from evenhand.envs import Doughnuts, Lending
from evenhand.lab.compare_methods import MethodComparison
from evenhand.lab.reference_scores import ReferenceScores
from evenhand.lab.run_spec import RunSpec
from evenhand.lab.runs import Run

CHECKPOINTS, SEEDS = 10, 6
SHOP = Doughnuts(num_stakeholders=3, horizon=100, presence=0.8)


def result(method, ends, kept=100.0, achieved=1.0, starts=0.0):
    """Curves that go straight from `starts` to the end of each seed."""
    ends = np.broadcast_to(np.asarray(ends, dtype=float), (SEEDS,))
    ramp = np.linspace(0.0, 1.0, CHECKPOINTS)[:, None]
    shape = (CHECKPOINTS, SEEDS)
    measures = {
        "score": starts + ramp * (ends - starts),
        "kept": np.broadcast_to(np.asarray(kept, dtype=float).reshape(-1, 1), shape).copy(),
        "achieved": np.full(shape, achieved),
    }
    return Run(spec_of(SHOP, method), {}, measures, 1.0, 0.5)


def spec_of(environment, method="fairqcm"):
    seeds = tuple(range(SEEDS))
    return RunSpec(environment, method, seeds, 1000 * CHECKPOINTS, every=1000, deep=True)


def comparison(methods, environment=None, optimum=100.0):
    found = {one.spec.method: one for one in methods}
    return MethodComparison(spec_of(environment or SHOP), ReferenceScores(optimum, 0.0), found)


def all_figures():
    """Every figure of the paper with made-up curves: methods end at 50, 60, 70, …"""
    names = {
        "tabular": (("fairqcm", "full", "min", "reset", "oracle", "random"), None),
        "lending": (("fairqcm", "full", "min", "rnn"), Lending()),
        "lending-gaussian": (("fairqcm", "full", "min"), Lending()),
        "doughnuts": (("fairqcm", "full", "min", "reset", "rnn"), None),
    }
    return {
        name: {
            "paper": comparison(
                [result(m, 50 + 10 * k + np.arange(SEEDS)) for k, m in enumerate(methods)], env
            ),
            "best": comparison([result("fairqcm", 99.5)], env),
        }
        for name, (methods, env) in names.items()
    }
