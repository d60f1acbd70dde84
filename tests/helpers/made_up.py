"""Comparisons with curves that a test chooses."""

from __future__ import annotations

import numpy as np

from evenhand.envs import Doughnuts, Lending
from evenhand.lab.compare_methods import MethodComparison, MethodResult
from evenhand.lab.reference_scores import ReferenceScores
from evenhand.lab.run_spec import RunSpec

CHECKPOINTS, SEEDS = 10, 6


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
    steps = (np.arange(CHECKPOINTS) + 1) * 1000
    return MethodResult(method, measures, steps, 1.0, 0.5)


def comparison(methods, environment=None, optimum=100.0):
    environment = environment or Doughnuts(num_stakeholders=3, horizon=100, presence=0.8)
    spec = RunSpec(
        environment, "fairqcm", tuple(range(SEEDS)), 1000 * CHECKPOINTS, every=1000, deep=True
    )
    return MethodComparison(
        spec, ReferenceScores(optimum, 0.0), {one.method: one for one in methods}
    )


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
