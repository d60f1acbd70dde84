"""A trial: one mutant, in a copy of the source, against the tests that cover its line."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mutation.covering import PYTEST, TestFile, environment, nearest_first
from mutation.mutants import Mutant

KILLED, TIMED_OUT, SURVIVED = "killed", "timed out", "survived"


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant, by which test file, and after how long."""

    key: str
    outcome: str
    by: str
    seconds: float


class Laboratory:
    """A copy of the source of its own: the working tree is never touched.

    A mutant that no test kills within `budget` seconds of testing has survived; a test that takes
    ten times as long as its whole file did, and half a minute more, hangs.
    """

    def __init__(self, project: Path, budget: float) -> None:
        self.project = project
        self.budget = budget
        self._place = tempfile.TemporaryDirectory(prefix="mutation-")
        self.source = Path(self._place.name) / "src"
        shutil.copytree(project / "src", self.source)

    def __enter__(self) -> Laboratory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._place.cleanup()

    def try_out(self, mutant: Mutant, tests: list[TestFile]) -> Verdict:
        """Put the mutant in, run the tests nearest first, and take it out again."""
        path = self.source / "evenhand" / mutant.file
        original = path.read_bytes()
        started = time.perf_counter()
        self._write(path, mutant.applied(original))
        try:
            outcome, by = SURVIVED, ""
            for group in nearest_first(mutant, tests):
                left = self.budget - (time.perf_counter() - started)
                if outcome == SURVIVED and group and left > 0:
                    outcome, by = self._run(group, left)
            return Verdict(mutant.key, outcome, by, round(time.perf_counter() - started, 1))
        finally:
            self._write(path, original)

    def _write(self, path: Path, source: bytes) -> None:
        path.write_bytes(source)
        # Compiled files are told apart by second and size, which two mutants may share.
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()

    def _run(self, tests: list[TestFile], seconds: float) -> tuple[str, str]:
        limit = 30 + 10 * max(test.seconds for test in tests)
        command = [*PYTEST, "--timeout", str(round(limit)), *(test.path for test in tests)]
        with subprocess.Popen(
            command,
            cwd=self.project,
            env=environment(self.project, self.source),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                return SURVIVED, ""
            finally:
                _end(process)
        if process.returncode == 0:
            return SURVIVED, ""
        outcome = TIMED_OUT if "+++ Timeout +++" in output or "Timeout (>" in output else KILLED
        named = re.findall(r"(?:FAILED|ERROR) (tests/\S+?\.py)", output)
        return outcome, named[0] if named else tests[0].path


def _end(process: subprocess.Popen[str]) -> None:
    """End a run of the tests with all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
