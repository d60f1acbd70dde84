"""Clients of a server who ask for service: how unequally were they served, minute by minute?

    python examples/serving.py LOG [LOG …]

A log has a row for each request: client, asked_at, first_token_at and finished_at (in seconds),
prompt_tokens, output_tokens, and aborted (1 where it was turned away). Without a log a small one is
made up. The measure is that of "Fairness in Serving Large Language Models" (Sheng et al., 2024):
at each window of 60 seconds a client falls short by what it lacks to the best served, but by no
more than the distance between what it got and what it asked for. All of it is one fairness scheme:
the status is minus what a client falls short by, fairness at a window is their sum, and over time
its mean, or the worst.
"""

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenhand import Mean, Trace, Utilitarian, Window, Worst, anytime
from evenhand.fairness import Beside, Circumstances

WIDTH, APART, WINDOWS = 60.0, 28.5, 19  # seconds a window is long, and from one to the next


@dataclass(frozen=True)
class ShortOfService(Beside):
    """Minus what a client falls short by in a window. It looks at what each asked for there."""

    symmetric = True
    part = "asked"
    needs = "what each client asked for in the window"

    def transform(self, service, asked):
        best = service.max(axis=-1, keepdims=True)
        return -np.minimum(best - service, np.abs(asked - service))

    def weigh(self, asked):
        return None  # a client is a client, however much it asks for

    def describe(self):
        return "minus what it lacks to the best served, or to what it asked for if that is less"


def windows_of(log: pd.DataFrame) -> Trace:
    """A step for each window: the service of each client, and what it asked for there."""
    served = log[log["aborted"] == 0]
    clients, client = np.unique(served["client"], return_inverse=True)
    cost = (served["prompt_tokens"] + 2 * served["output_tokens"]).to_numpy(float)
    asked_at, start, end = (
        served[name].to_numpy(float) for name in ("asked_at", "first_token_at", "finished_at")
    )
    counted = (end >= 1.0) & (end - start >= 1e-5)
    rate = np.where(counted, cost / np.where(counted, end - start, 1.0), 0.0)
    service, asked = np.zeros((2, WINDOWS, len(clients)))
    for k in range(WINDOWS):
        middle = WIDTH / 2 + APART * (k + 1)
        low, high = middle - WIDTH / 2, middle + WIDTH / 2
        inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0.0, None)
        there = (asked_at >= low) & (asked_at <= high)
        service[k] = np.bincount(client, rate * inside, len(clients)) / WIDTH
        asked[k] = np.bincount(client, cost * there, len(clients)) / WIDTH
    return Trace(
        rewards=service,
        states=Circumstances(asked=np.concatenate((asked[:1], asked))),
        stakeholders=tuple(map(str, clients)),
    )


def service_difference(log: pd.DataFrame) -> tuple[float, float]:
    """The largest difference over the windows, and the mean."""
    trace, status = windows_of(log), ShortOfService(of=Window(1))
    worst, mean = (anytime(Utilitarian(), temporal, status) for temporal in (Worst(), Mean()))
    return -worst.score(trace), -mean.score(trace)


def made_up() -> pd.DataFrame:
    """Two clients of whom one asks three times as often, served first come, first served."""
    asked = np.sort(np.concatenate((np.arange(0, 600, 2.0), np.arange(1, 600, 6.0))))
    finished = 2.5 * np.arange(1, len(asked) + 1)
    return pd.DataFrame(
        {
            "client": np.where(asked % 2 == 0, "eager", "modest"),
            "asked_at": asked,
            "first_token_at": finished - 2.0,
            "finished_at": finished,
            "prompt_tokens": 20,
            "output_tokens": 60,
            "aborted": 0,
        }
    )


if __name__ == "__main__":
    logs = {path: pd.read_csv(path) for path in sys.argv[1:]} or {"made up": made_up()}
    for name, log in logs.items():
        largest, mean = service_difference(log)
        print(f"{name}: largest {largest:.2f}, mean {mean:.2f}")
