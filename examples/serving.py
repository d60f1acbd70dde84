"""Clients of a server who ask for service: how unequally were they served, minute by minute?

    python examples/serving.py [--seconds 600] LOG [LOG …]

A log is a CSV file with a row for each request: client, asked_at, first_token_at and finished_at
(in seconds from the start of the run), prompt_tokens, output_tokens, and aborted (1 where it was
turned away; without this column, wherever first_token_at is empty). Requests that were turned away
count for nothing; one that has not been served yet (aborted is 0, and a time is empty) was asked
for and got nothing. Without a log a small one is made up.

The measure is that of "Fairness in Serving Large Language Models" (Sheng et al., 2024): at each
window of 60 seconds a client falls short by what it lacks to the best served, but by no more than
the distance between what it got and what it asked for. The windows are those of the study, whose
runs all take 600 seconds: 19 of them, spread evenly over the run. All of it is one fairness scheme:
the status is minus what a client falls short by, fairness at a window is their sum, and over time
its mean, or the worst.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd

from evenhand import Mean, Trace, Utilitarian, Window, Worst, anytime
from evenhand.fairness import Beside, Circumstances

WIDTH, WINDOWS, RUN = 60.0, 19, 600.0  # seconds of a window, how many, seconds of a run
TIMES, TOKENS = ("asked_at", "first_token_at", "finished_at"), ("prompt_tokens", "output_tokens")


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


def requests_of(log: pd.DataFrame) -> pd.DataFrame:
    """The requests that were not turned away, with numbers in place of text."""
    missing = [name for name in ("client", *TIMES, *TOKENS) if name not in log]
    if missing:
        raise ValueError(f"there is no column {', '.join(missing)}")
    numbers = log[[*TIMES, *TOKENS]].apply(pd.to_numeric)
    aborted = pd.to_numeric(log["aborted"]) != 0 if "aborted" in log else log[TIMES[1]].isna()
    found = numbers.assign(client=log["client"].astype(str))[~aborted]
    if found.empty:
        raise ValueError("there is no request that was not turned away")
    if found[["asked_at", *TOKENS]].isna().any(axis=None):
        raise ValueError("a request that was not turned away has no asked_at, or no tokens")
    return found


def windows_of(log: pd.DataFrame, seconds: float = RUN) -> Trace:
    """A step for each window: the service of each client, and what it asked for there."""
    served = requests_of(log)
    clients, client = np.unique(served["client"], return_inverse=True)
    cost = (served["prompt_tokens"] + 2 * served["output_tokens"]).to_numpy(float)
    asked_at, start, end = (served[name].to_numpy(float) for name in TIMES)
    # As in the study: not what finished at once or in the first second; nor what is not over.
    counted = (end >= 1.0) & (end - start >= 1e-5)
    start, end = np.where(counted, start, 0.0), np.where(counted, end, 1.0)
    rate = np.where(counted, cost / (end - start), 0.0)
    service, asked = np.zeros((2, WINDOWS, len(clients)))
    for k in range(WINDOWS):
        middle = WIDTH / 2 + (seconds - WIDTH / 2) / (WINDOWS + 1) * (k + 1)
        low, high = middle - WIDTH / 2, middle + WIDTH / 2
        inside = np.clip(np.minimum(end, high) - np.maximum(start, low), 0.0, None)
        there = (asked_at >= low) & (asked_at <= high)
        service[k] = np.bincount(client, rate * inside, len(clients)) / WIDTH
        asked[k] = np.bincount(client, cost * there, len(clients)) / WIDTH
    return Trace(
        rewards=service,
        circumstances=Circumstances(asked=asked),
        stakeholders=tuple(clients),
    )


def service_difference(log: pd.DataFrame, seconds: float = RUN) -> tuple[float, float]:
    """The largest difference over the windows, and the mean."""
    trace, status = windows_of(log, seconds), ShortOfService(of=Window(1))
    worst, mean = (anytime(Utilitarian(), temporal, status) for temporal in (Worst(), Mean()))
    return 0.0 - worst.score(trace), 0.0 - mean.score(trace)  # nothing is -0


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


def main() -> None:
    parser = argparse.ArgumentParser(description="How unequally clients of a server were served.")
    parser.add_argument("logs", nargs="*", metavar="LOG", help="a CSV file of requests")
    parser.add_argument("--seconds", type=float, default=RUN, help="how long a run is (600)")
    asked = parser.parse_args()
    for name in asked.logs or ["made up"]:
        try:
            log = pd.read_csv(name) if asked.logs else made_up()
            largest, mean = service_difference(log, asked.seconds)
        except (OSError, ValueError) as error:
            sys.exit(f"{name} cannot be judged: {error}.")
        print(f"{name}: largest {largest:.2f}, mean {mean:.2f}")


if __name__ == "__main__":
    main()
