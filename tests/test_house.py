"""The house: layers import one way, public names are in one place, nothing loads jax unasked."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import evenhand
from places import ROOT, SOURCE, SYSTEM

# The floor plan: a folder imports only from itself and from those above it. Folders on one line do
# not know each other.
FLOORS = [
    ["errors"],
    ["_util"],
    ["events"],
    ["fairness"],
    ["process"],
    ["memory"],
    ["problem"],
    ["envs"],
    ["planning"],
    ["learn"],
    ["log"],
    ["auditing"],
    ["decide"],
    ["monitor", "interop"],
    ["lab"],
    ["report"],
    ["serve"],
    ["cli"],
    ["__main__"],
]
# The order inside the room that is a walk of its own: from when to look to what is said.
AUDITING = [
    "questions",
    "scoring",
    "case",
    "judge",
    "chance",
    "verdict",
    "group_gaps",
    "answer",
    "over_runs",
    "audit_log",
    "compare_logs",
    "__init__",
]
# An answer asks for its picture when a notebook draws it, and a log for what may be asked of it: in
# the one function that needs it, and nothing depends on that.
LOG = ("log", "log")
ASKS_UPWARDS = {
    (("auditing", "answer"), ("report", "html", "audit_page")),
    (("auditing", "verdict"), ("auditing", "answer")),  # whose class it names
    (LOG, ("auditing", "answer")),
    (LOG, ("auditing", "audit_log")),
    (LOG, ("auditing", "chance", "finding")),
    (LOG, ("decide", "hindsight", "best_of_log")),
    (LOG, ("decide", "replay", "answer")),
    (LOG, ("decide", "replay", "replay_log")),
    (LOG, ("decide", "world_from_log")),
}
MODULE_OF = {name: module for module, names in evenhand._HOME.items() for name in names}
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names}


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def imports(path: Path) -> set[tuple[str, ...]]:
    """The parts of evenhand that a file imports, as the folders on the way to each."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "evenhand":
            found |= {MODULE_OF.get(alias.name, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenhand."):
            module = node.module.removeprefix("evenhand.")
            found |= {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                a.name.removeprefix("evenhand.") for a in node.names if a.name[:9] == "evenhand."
            }
    return {tuple(name.split(".")) for name in found - {"__version__"}}


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_from_above(path):
    own = path.relative_to(SOURCE).with_suffix("").parts
    for other in imports(path):
        if (own, other[:-1]) in ASKS_UPWARDS:
            continue
        if other[0] == own[0] == "auditing":
            assert AUDITING.index(other[1]) <= AUDITING.index(own[1]), f"{own} imports {other}"
        elif other[0] != own[0]:
            assert FLOOR_OF[other[0]] < FLOOR_OF[own[0]], f"{own} imports {other}"


def test_every_folder_has_its_floor():
    there = {path.name.removesuffix(".py") for path in SOURCE.iterdir()} - {
        *("__init__", "__pycache__", "py.typed")
    }
    assert there == set(FLOOR_OF)


def test_public_names_are_those_the_static_imports_say():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    static = {
        alias.name: node.module.removeprefix("evenhand.")
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert static == MODULE_OF
    for name in evenhand.__all__:
        assert getattr(evenhand, name) is not None
        assert name in dir(evenhand)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = evenhand.nonsense


def test_version_is_said_in_one_place():
    text = (ROOT / "pyproject.toml").read_text()
    assert 'dynamic = ["version"]' in text
    assert not re.search(r"^version *=", text, re.M)
    assert re.search(r'^path = "src/evenhand/__init__.py"$', text, re.M)
    cited = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", cited, re.M).group(1) == evenhand.__version__
    assert f"## {evenhand.__version__} " in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("path", sorted(SYSTEM.glob("test_*.py")), ids=lambda path: path.stem)
def test_all_of_a_system_test_is_marked_as_one(path):
    """Else neither `make test`, which leaves out the folder, nor `make test-system` runs it."""
    assert re.search(r"^pytestmark = .*pytest\.mark\.system\b", path.read_text(), re.M)


@pytest.mark.parametrize(
    "name",
    [m.name for m in pkgutil.walk_packages(evenhand.__path__, "evenhand.") if "__" not in m.name],
)
def test_examples_in_docstrings(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert results.failed == 0


def test_scoring_does_not_load_jax():
    code = (
        "import sys, evenhand\n"
        "evenhand.anytime().score(evenhand.Trace(rewards=[[1, 2]]))\n"
        "assert 'jax' not in sys.modules, 'jax was loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_help_loads_neither_numpy_nor_jax():
    """`evenhand --help` answers at once; how fast is measured in benchmarks/start_up.py."""
    code = (
        "import sys\n"
        "from evenhand.cli import main\n"
        "sys.argv = ['evenhand', '--help']\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "for heavy in ('numpy', 'jax', 'duckdb', 'narwhals'): assert heavy not in sys.modules\n"
    )
    started = time.perf_counter()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "demo" in run.stdout
    assert time.perf_counter() - started < 120  # a hang, not a benchmark


def test_dependencies_are_pinned_by_name_and_version():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", pin) for pin in pins if pin)
    pinned = {pin.split("==")[0].lower().replace("_", "-") for pin in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    for wanted in (project["dependencies"], *extras):
        for name in (re.match(r"[A-Za-z0-9_-]+", one)[0].lower() for one in wanted):
            assert name in pinned | {"evenhand"}, f"{name} is not pinned"
