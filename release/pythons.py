"""The wheel tried with several versions of Python, and with the oldest of what it needs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1]
CHECK = PROJECT / "tests" / "helpers" / "installed_check.py"
STAGES: tuple[tuple[str, ...], ...] = ((), ("learn", "serve"))


def interpreters(named: Sequence[str]) -> list[str]:
    """Those of the interpreters that are here and run; a shim may be there without its Python."""
    return [one for one in named if shutil.which(one) and _runs(one)]


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def try_wheel(wheel: Path, python: str, oldest: bool = False) -> bool:
    """Install a wheel into a new environment, without and with its extras; whether it works there.

    Args:
        wheel: The file.
        python: The interpreter.
        oldest: Whether to install the oldest allowed version of each direct dependency.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        here = Path(folder) / "bin" / "python"
        results = []
        for extras in STAGES:
            started = time.perf_counter()
            _install(here, wheel, extras, oldest)
            seconds = time.perf_counter() - started
            size = _megabytes(Path(folder) / "lib")
            what = f"evenhand[{','.join(extras)}]" if extras else "evenhand"
            print(f"{python}: {what}: {size:.0f} MB, installed in {seconds:.0f} s", flush=True)
            done = subprocess.run([here, CHECK, *extras], cwd=folder, check=False)
            results.append(done.returncode == 0)
        return all(results)


def _install(python: Path, wheel: Path, extras: Sequence[str], oldest: bool) -> None:
    what = f"evenhand[{','.join(extras)}] @ {wheel.as_uri()}" if extras else str(wheel)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if oldest:
        pip += ["-c", _oldest(python, pip)]
    subprocess.run([*pip, what], check=True)


def _oldest(python: Path, pip: list[Any]) -> Path:
    """A file with the oldest allowed version of each package that pyproject.toml names.

    Only uv resolves so; it comes from PyPI, as everything here.
    """
    subprocess.run([*pip, "uv"], check=True)
    found = python.with_name("oldest.txt")
    asked = [word for extra in STAGES[-1] for word in ("--extra", extra)]
    uv = [python.with_name("uv"), "pip", "compile", "--quiet", "--python", python]
    project = [PROJECT / "pyproject.toml", *asked, "--resolution", "lowest-direct", "-o", found]
    subprocess.run([*uv, *project], check=True, stdout=subprocess.DEVNULL)
    return found


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 2**20
