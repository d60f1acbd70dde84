"""What is released: a wheel and an sdist with what they should have, that work by themselves."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

import evenhand
from places import ROOT, SOURCE

pytestmark = pytest.mark.system
pytest.importorskip("hatchling", reason="hatchling is not installed")

CHECK = ROOT / "tests" / "helpers" / "installed_check.py"
DATA = {".py", ".css", ".js", ".svg", ".typed"}


def tracked(*folders: str) -> set[str]:
    """The files under version control; a checkout has others, too."""
    listed = subprocess.run(
        ["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(listed.stdout.splitlines())


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    return next(built.glob("*.whl"))


def test_the_wheel_has_the_package_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    info = f"evenhand-{evenhand.__version__}.dist-info"
    package = {name for name in names if PurePosixPath(name).parts[0] == "evenhand"}
    assert package == {name.removeprefix("src/") for name in tracked("src/evenhand")}
    assert {PurePosixPath(name).suffix for name in package} <= DATA
    assert {PurePosixPath(name).parts[0] for name in names - package} == {info}
    assert {f"{info}/licenses/LICENSE", f"{info}/licenses/NOTICE"} <= names
    assert wheel.stat().st_size < 2_000_000


def test_the_wheel_says_what_it_is(wheel):
    name = f"evenhand-{evenhand.__version__}.dist-info/METADATA"
    said = Parser().parsestr(zipfile.ZipFile(wheel).read(name).decode())
    assert (said["Name"], said["Version"]) == ("evenhand", evenhand.__version__)
    assert said["License-Expression"] == "MIT AND BSD-3-Clause AND ISC"
    base = [one for one in said.get_all("Requires-Dist") if "extra ==" not in one]
    assert not [one for one in base if one.startswith(("jax>", "torch", "gymnasium", "vl-conv"))]
    assert {"learn", "serve", "all"} <= set(said.get_all("Provides-Extra"))
    assert "Typing :: Typed" in said.get_all("Classifier")


def test_the_sdist_has_what_is_under_version_control(built):
    source = next(built.glob("*.tar.gz"))
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    missing = tracked("src", "tests", "docs", "examples", "LICENSE", "README.md") - names
    assert not missing
    assert not [name for name in names if ".venv" in name or name.endswith(".pyc")]
    assert SOURCE.name == "evenhand"


def test_it_works_where_there_is_no_checkout(wheel, tmp_path):
    """`pip install evenhand`, then with the extras; pip reaches no index: nothing to try."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pins = ["--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    for extras in ((), ("learn", "serve")):
        what = f"evenhand[{','.join(extras)}] @ {wheel.as_uri()}" if extras else str(wheel)
        done = subprocess.run(
            [python, "-m", "pip", "install", *pins, what],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode and "No matching distribution" in done.stderr:
            pytest.skip("pip cannot install what the wheel needs here")
        assert done.returncode == 0, done.stderr
        tried = subprocess.run(
            [python, CHECK, *extras], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert tried.returncode == 0, tried.stdout + tried.stderr
