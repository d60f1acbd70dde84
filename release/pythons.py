"""The wheel tried with several versions of Python, and with the oldest of what it needs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

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
    if oldest:
        # Only uv resolves to the oldest versions; it comes from PyPI, as everything here.
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv"]
        subprocess.run(pip, check=True)
        uv = [python.with_name("uv"), "pip", "install", "--quiet", "--python", python]
        subprocess.run([*uv, "--resolution", "lowest-direct", what], check=True)
        return
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, what], check=True)


def _megabytes(folder: Path) -> float:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files) / 2**20
