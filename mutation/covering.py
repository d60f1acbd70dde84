"""Which test files run a line, found once by running each test file alone under coverage."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutation.mutants import Mutant

# A process of its own for each test file: what one test has compiled, the next would not run again
# as Python, and its lines would seem uncovered.
PYTEST = [
    *(sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider"),
    *("--hypothesis-profile", "unshrunk", "--hypothesis-seed", "0", "--no-header", "--tb", "line"),
]


@dataclass(frozen=True)
class TestFile:
    """A test file, how long it takes, and the lines of the package that it runs."""

    path: str
    seconds: float
    lines: dict[str, list[int]]
    digest: str

    __test__ = False  # not a test itself

    def covers(self, mutant: Mutant) -> bool:
        lines = self.lines.get(mutant.file, ())
        return any(mutant.statement <= line <= mutant.line for line in lines)


def digest(project: Path, paths: Iterable[Path]) -> str:
    """What stands in the files, in short."""
    whole = hashlib.sha256()
    for path in sorted(paths):
        whole.update(str(path.relative_to(project)).encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def measured(project: Path, work: Path, folders: list[str], processes: int) -> list[TestFile]:
    """The test files of these folders that pass, measured anew where they or the code changed."""
    package = digest(project, (project / "src").rglob("*.py"))
    shared = [project / "tests" / "conftest.py", *(project / "tests" / "helpers").glob("*.py")]
    work.mkdir(exist_ok=True, parents=True)

    def one(path: Path) -> TestFile | None:
        name = str(path.relative_to(project))
        now = digest(project, [path, *shared])
        kept = work / (name.replace("/", ".") + ".json")
        if kept.exists():
            known = json.loads(kept.read_text())
            if known.pop("package") == package and known["digest"] == now:
                return TestFile(**known)
        found = _measure(project, name, now)
        if found is not None:
            kept.write_text(json.dumps(vars(found) | {"package": package}))
        return found

    paths = [
        path
        for folder in folders
        for path in sorted((project / "tests" / folder).rglob("test_*.py"))
        if path.parent.name not in ("system", "mutation")
    ]
    with ThreadPoolExecutor(processes) as pool:
        return [found for found in pool.map(one, paths) if found is not None]


def nearest_first(mutant: Mutant, tests: list[TestFile]) -> tuple[list[TestFile], list[TestFile]]:
    """The tests that cover a mutant's line: those of its own folder, and the others, by time."""
    path = Path("tests") / mutant.file
    mirror = str(path.with_name(f"test_{path.name}"))
    folder = "/".join(path.parts[:2]) + "/"
    covering = sorted(
        (test for test in tests if test.covers(mutant) or test.path == mirror),
        key=lambda test: (test.path != mirror, test.seconds),
    )
    near = [test for test in covering if test.path.startswith(folder)]
    return near, [test for test in covering if test not in near]


def environment(project: Path, source: Path) -> dict[str, str]:
    """The environment in which the tests of a project run on another copy of its source."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(project / ".jax_cache"))
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = [path for path in inherited if path and Path(path).resolve() != project / "src"]
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(source), *others]),
        "JAX_COMPILATION_CACHE_DIR": cache,
    }


def _measure(project: Path, name: str, now: str) -> TestFile | None:
    from coverage import CoverageData

    with tempfile.TemporaryDirectory() as place:
        data_file = Path(place) / "coverage"
        settings = Path(place) / "coveragerc"
        settings.write_text(f"[run]\ninclude = {project}/src/evenhand/*\n")
        run = [sys.executable, "-m", "coverage", "run"]
        run += [f"--data-file={data_file}", f"--rcfile={settings}", *PYTEST[1:], name]
        started = time.perf_counter()
        ended = subprocess.run(
            run, cwd=project, env=environment(project, project / "src"), capture_output=True
        )
        seconds = time.perf_counter() - started
        if ended.returncode == 5:  # nothing there that belongs to `make test`
            return None
        if ended.returncode:
            print(f"{name} fails as it stands and is left out:")
            print(ended.stdout.decode()[-500:], flush=True)
            return None
        data = CoverageData(str(data_file))
        data.read()
        package = project / "src" / "evenhand"
        lines = {
            str(Path(file).relative_to(package)): sorted(data.lines(file) or [])
            for file in data.measured_files()
        }
        print(f"measured {name} in {seconds:.0f} s", flush=True)
        return TestFile(name, seconds, lines, now)
