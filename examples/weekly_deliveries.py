"""A log with a pattern worth learning: small lots from Monday to Thursday, a large one on Friday.

Three clinics share the lots, each of which goes to one clinic whole, and are compared at the end of
each week. Whoever keeps all level from day to day hands the Friday lot to somebody who is level
with the others; whoever knows the week leaves one clinic behind until Friday.

    python examples/weekly_deliveries.py --seed 1 --out deliveries.csv
"""

from __future__ import annotations

import argparse
import csv
import datetime
import random
from pathlib import Path

CLINICS = ("East", "North", "South")
FIRST = datetime.date(2023, 1, 2)  # a Monday
SMALL, LARGE = (3, 4, 5), (7, 8, 9)


def deliveries(weeks: int = 104, seed: int = 0) -> list[tuple[str, str, int]]:
    """Rows of a day, a clinic and a number of doses; who got each was drawn."""
    draw = random.Random(seed)
    rows = []
    for week in range(weeks):
        for day in range(5):
            date = FIRST + datetime.timedelta(days=7 * week + day)
            doses = draw.choice(LARGE if day == 4 else SMALL)
            rows.append((date.isoformat(), draw.choice(CLINICS), doses))
    return rows


def write(path: Path, weeks: int = 104, seed: int = 0) -> None:
    """Write the log as a CSV file."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("day", "clinic", "doses"))
        writer.writerows(deliveries(weeks, seed))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="Another seed, another log.")
    parser.add_argument("--weeks", type=int, default=104, help="How many weeks.")
    parser.add_argument("--out", type=Path, default=Path("deliveries.csv"), help="Where to.")
    asked = parser.parse_args()
    write(asked.out, asked.weeks, asked.seed)
    print(f"{asked.weeks} weeks of deliveries are in {asked.out}.")


if __name__ == "__main__":
    main()
