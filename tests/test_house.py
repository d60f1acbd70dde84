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
from pathlib import Path

import pytest

import evenhand

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "evenhand"

# A file imports only from its own layer or one with a smaller number (see CONTRIBUTING.md).
LAYERS = {
    0: ["errors", "arrays", "files", "tensors"],
    1: [
        *(
            "trace",
            "groups",
            "attribute",
            "status",
            "welfare",
            "temporal",
            "aggregation",
            "filters",
            "scheme",
        ),
        *("stream", "presence", "assessment", "unfairness", "registry", "scheme_file"),
        *("process", "mdp", "policy", "interval", "scoring"),
    ],
    2: ["memory", "regular", "minimal", "pay", "problem"],
    3: ["envs"],
    4: ["plan", "learn"],
    5: ["audit", "report", "monitor", "interop", "experiments", "cli", "__main__"],
}
LAYER_OF = {name: number for number, names in LAYERS.items() for name in names}


def modules() -> list[Path]:
    return [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def imports(path: Path) -> set[str]:
    """The top-level parts of evenhand that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "evenhand":
            found |= {evenhand._MODULE_OF.get(alias.name, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evenhand."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("evenhand.")}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_downwards(path):
    own = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for name in imports(path) - {"__version__"}:
        assert LAYER_OF[name] <= LAYER_OF[own], f"{own} imports {name} from a higher layer"


def test_public_names_are_those_the_static_imports_say():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    static = {
        alias.name: node.module.removeprefix("evenhand.")
        for node in ast.walk(block)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert static == evenhand._MODULE_OF
    for name in evenhand.__all__:
        assert getattr(evenhand, name) is not None
        assert name in dir(evenhand)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = evenhand.nonsense


def test_version_is_said_once_in_two_places():
    text = (ROOT / "pyproject.toml").read_text()
    assert re.search(r'^version = "(.*)"$', text, re.M).group(1) == evenhand.__version__


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
    assert time.perf_counter() - started < 10  # a hang, not a benchmark


def test_dependencies_are_pinned_by_name_and_version():
    pins = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!-]+", pin) for pin in pins if pin)
    pinned = {pin.split("==")[0].lower().replace("_", "-") for pin in pins}
    text = (ROOT / "pyproject.toml").read_text()
    base = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S).group(1)
    dev = re.search(r"^dev = \[(.*?)^\]", text, re.M | re.S).group(1)
    for name in re.findall(r'"([A-Za-z0-9-]+)', base + dev):
        assert name.lower() in pinned, f"{name} is not pinned"
