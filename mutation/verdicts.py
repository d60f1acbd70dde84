"""Verdicts on file: a run that is cut off goes on, and a verdict stands as long as its grounds."""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from mutation.covering import TestFile, nearest_first
from mutation.mutants import Mutant
from mutation.trial import SURVIVED, Verdict


def grounds(mutant: Mutant, verdict: Verdict, tests: list[TestFile]) -> str:
    """What a verdict rests on: the test that killed, or all that did not."""
    near, far = nearest_first(mutant, tests)
    relied = [t for t in near + far if verdict.outcome == SURVIVED or t.path == verdict.by]
    return " ".join(sorted(test.digest for test in relied))


class Verdicts:
    """Every verdict so far, one a line; later lines replace earlier ones."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Verdict, str]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                self._take(line)

    def _take(self, line: str) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            return  # the run was cut off while it wrote this
        rests_on = said.pop("grounds")
        self._known[said["key"]] = (Verdict(**said), rests_on)

    def find(self, mutant: Mutant, tests: list[TestFile]) -> Verdict | None:
        verdict, rests_on = self._known.get(mutant.key, (None, ""))
        if verdict is None or grounds(mutant, verdict, tests) != rests_on:
            return None
        return verdict

    def add(self, mutant: Mutant, verdict: Verdict, tests: list[TestFile]) -> None:
        line = json.dumps(asdict(verdict) | {"grounds": grounds(mutant, verdict, tests)})
        with self._lock, self.path.open("a") as file:
            file.write(line + "\n")
        self._take(line)


@dataclass(frozen=True)
class Explanation:
    """Why a survivor is no mistake that a test could notice, or why it is left."""

    file: str
    line: str
    change: str
    why: str


def explanations(path: Path) -> dict[tuple[str, str, str], str]:
    """The survivors explained, by file, text of the line, and change: any sample finds them."""
    told = tomllib.loads(path.read_text()).get("survivor", [])
    each: Iterable[Explanation] = (Explanation(**one) for one in told)
    return {(one.file, one.line, one.change): one.why for one in each}
