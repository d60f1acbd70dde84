"""Tests of _util.registry."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib

import pytest

from evenhand._util.registry import (
    EXTRAS,
    Registry,
    lazy_exports,
    missing_extra,
    naming_the_extra,
    not_installed,
    require_packages,
)
from evenhand.cli.app import app
from evenhand.errors import BadParameter, MissingExtra, UnknownName
from places import ROOT, SOURCE

# Without its extras evenhand judges, watches and replays; the rest says what to install.

LEARN = "this needs jax, which is not installed: pip install 'evenhand[learn]'."
SERVE = "this needs fastapi, which is not installed: pip install 'evenhand[serve]'."
LOG = "day,who,amount\n2024-01-01,A,1\n2024-01-02,B,1\n2024-01-03,A,1\n2024-01-04,A,1\n"
COLUMNS = "--stakeholder who --time day --amount amount"
# Every verb, the sentence that it says without extras, if it does, and what it prints if not.
VERBS = {
    "audit": (f"audit log.csv {COLUMNS} --best --out report.html", None, "B"),
    "replay": (f"replay log.csv {COLUMNS} --rule least_served --rule lottery", None, "least_"),
    "monitor": (f"monitor {COLUMNS} --name A --name B", None, '"summary":true'),
    "list": ("list", None, f"Environments, methods and proposals are not shown: {LEARN}"),
    "serve": ("serve --store new.db", SERVE, ""),
    "plan": ("plan doughnuts", LEARN, ""),
    "train": ("train doughnuts", LEARN, ""),
    "evaluate": ("evaluate fair.policy", LEARN, ""),
    "compare": ("compare doughnuts", LEARN, ""),
    "reproduce": ("reproduce theorems", LEARN, ""),
    "demo": ("demo", None, f"No policy was learned: {LEARN}"),
}
# Distributions that are not called as their packages are.
CALLED = {
    "automata": "automata-lib",
    "ibis": "ibis-framework",
    "jaxlib": "jax",
    "multipart": "python-multipart",
    "py4j": "pyspark",
    "pydantic": "fastapi",
    "starlette": "fastapi",
}
# One process that has no extras, for all of them: None in sys.modules is a package not installed.
WITHOUT = """
import contextlib, io, json, sys
for name in json.loads(sys.argv[1]): sys.modules[name] = None
"""
TRY_COMMANDS = (
    WITHOUT
    + """
from evenhand.cli import main
said = {}
for verb, command in json.loads(sys.argv[2]).items():
    sys.argv = ["evenhand", *command.split()]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try: main()
        except SystemExit as stop: code = stop.code or 0
    said[verb] = [code, *(one.buffer.getvalue().decode() for one in (out, err))]
print(json.dumps(said))
"""
)
TRY_NAMES = (
    WITHOUT
    + """
import evenhand
from evenhand.errors import MissingExtra
said = {}
for name in evenhand.__all__:
    try: said[name] = getattr(evenhand, name) is None
    except MissingExtra as missing: said[name] = str(missing)
print(json.dumps(said))
"""
)


def run_without_extras(code: str, *arguments: object, folder=None, stdin: str = "") -> dict:
    absent = [package for packages in EXTRAS.values() for package in packages]
    given = [json.dumps(one) for one in (absent, *arguments)]
    found = subprocess.run(
        [sys.executable, "-c", code, *given],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)


@pytest.mark.system
def test_every_verb_works_or_says_what_to_install(tmp_path):
    verbs = {command.name for command in app.registered_commands}
    assert set(VERBS) <= verbs
    (tmp_path / "log.csv").write_text(LOG)
    commands = {verb: VERBS[verb][0] if verb in VERBS else verb for verb in sorted(verbs)}
    event = '{"day": "2024-01-01", "who": "A", "amount": 1}\n'
    said = run_without_extras(TRY_COMMANDS, commands, folder=tmp_path, stdin=event)
    for verb, (_, sentence, words) in VERBS.items():
        code, out, err = said[verb]
        if sentence is None:
            assert (code, words in " ".join(out.split())) == (0, True), (verb, out, err)
        else:
            assert (code, out, err) == (2, "", f"evenhand: {sentence}\n"), verb
    for verb in verbs - set(VERBS):  # one that has no line above needs more than its name
        code, _, err = said[verb]
        assert (code, err.count("\n"), "Traceback" in err) == (2, 1, False), (verb, err)
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_every_public_name_is_there_or_says_what_to_install():
    said = run_without_extras(TRY_NAMES)
    missing = {name: sentence for name, sentence in said.items() if sentence is not False}
    assert set(missing.values()) == {LEARN}
    assert {"FairQCM", "plan", "Doughnuts", "Problem", "evaluate"} <= set(missing)
    judging = {"audit", "Monitor", "Allocator", "best_there_was", "anytime", "Full", "Rawls"}
    assert not judging & set(missing)


def test_what_no_extra_brings_is_not_hidden():
    assert missing_extra(ModuleNotFoundError(name="nonsense")) is None
    assert missing_extra(ModuleNotFoundError("of no name")) is None
    with pytest.raises(ModuleNotFoundError, match="nonsense"), naming_the_extra():
        import nonsense  # noqa: F401


def test_packages_are_looked_for_before_anything_is_done(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"^this needs uvicorn, .*'evenhand\[serve\]'\.$"):
        require_packages("numpy", "uvicorn")
    with pytest.raises(MissingExtra, match=r"^this needs stable_baselines3, .*\[sb3\]'\.$"):
        raise not_installed("stable_baselines3")


def test_a_missing_extra_is_an_import_error_with_a_sentence():
    error = missing_extra(ModuleNotFoundError(name="jax.numpy"))
    assert isinstance(error, ImportError)
    assert isinstance(error, MissingExtra)
    assert str(error) == LEARN


def normal(name: str) -> str:
    return re.split(r"[^\w.-]", name)[0].lower().replace("_", "-")


def test_every_package_that_is_imported_is_a_dependency_or_of_an_extra():
    optional = {"IPython", "mlflow", "minari", "onnx", "pandas", "polars", "pyarrow"}
    optional |= {"tensorboard", "vl_convert", "torch", "modin"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {normal(one) for one in project["dependencies"]}
    extras = project["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        brought = {normal(one) for one in extras[extra]}
        for package in packages:
            assert normal(CALLED.get(package, package)) in brought, (extra, package)
    known = base | {normal(one) for extra in EXTRAS for one in extras[extra]}
    for path in SOURCE.rglob("*.py"):
        for package in imported(path):
            if package not in sys.stdlib_module_names | optional | {"evenhand"}:
                assert normal(CALLED.get(package, package)) in known, (path, package)


def imported(path) -> set[str]:
    """The packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


# What a package exports is loaded when it is first used, and not before.


def test_a_name_is_loaded_when_it_is_used(tmp_path, monkeypatch):
    package = tmp_path / "made_up_package"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from evenhand._util.registry import lazy_exports\n"
        "__getattr__, __dir__, _names = lazy_exports(\n"
        "    __name__, {'one': ('first', 'second'), 'deep.two': ('third',)}\n"
        ")\n"
        "__all__ = ['__version__', *_names]\n"
        "__version__ = '1'\n"
    )
    (package / "one.py").write_text("first = 1\nsecond = 2\n")
    (package / "deep" / "two.py").write_text("third = object()\n")
    monkeypatch.syspath_prepend(tmp_path)
    import made_up_package

    assert dir(made_up_package) == ["__version__", "first", "second", "third"]
    assert "made_up_package.deep.two" not in sys.modules
    assert made_up_package.third is made_up_package.third
    assert "made_up_package.one" not in sys.modules
    assert (made_up_package.first, made_up_package.second) == (1, 2)
    with pytest.raises(AttributeError, match="'made_up_package' has no attribute 'fourth'"):
        _ = made_up_package.fourth


def test_it_loads_nothing_heavy():
    code = (
        "import sys, evenhand._util.registry\n"
        "for heavy in ('jax', 'numpy', 'gymnasium'): assert heavy not in sys.modules, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert lazy_exports("evenhand", {})[2] == []


@pytest.mark.parametrize("package", ["evenhand", "evenhand.interop", "evenhand.learn"])
def test_every_name_that_is_exported_is_there(package):
    import importlib

    module = importlib.import_module(package)
    assert module.__all__
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None


# Names of classes: each kind's own, and a user's.


class Red:
    """A colour.

    Of tomatoes.
    """


class Blue:
    """Another."""


def test_a_class_is_registered_by_a_call_or_as_a_decorator():
    colours = Registry("colour", {"red": Red})
    assert colours.register("blue", Blue) is Blue

    @colours.register("green")
    class Green:
        """A third."""

    assert list(colours.classes) == ["red", "blue", "green"]
    assert colours.get("green") is Green
    assert colours.name_of(Blue()) == "blue"
    assert colours.lines() == {"red": "A colour.", "blue": "Another.", "green": "A third."}


def test_a_class_that_is_not_registered_has_no_name():
    class DarkRed(Red):
        """Not the same class as the one it derives from."""

    assert Registry("colour", {"red": Red}).name_of(DarkRed()) is None


def test_a_name_that_is_taken_is_refused():
    colours = Registry("colour", {"red": Red})
    with pytest.raises(BadParameter, match=r"'red' is registered already, as Red of .*: choose"):
        colours.register("red", Blue)
    assert colours.get("red") is Red
    colours.register("red", Red)  # as when a notebook cell is run again


def test_an_unknown_name_is_refused_with_the_nearest():
    colours = Registry("colour", {"red": Red, "blue": Blue})
    with pytest.raises(UnknownName, match="no colour called 'blu': did you mean 'blue'"):
        colours.get("blu")
    with pytest.raises(UnknownName, match="no colour called 'xyz': there are red, blue"):
        colours.get("xyz")
