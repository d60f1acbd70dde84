"""The cache of compiled functions: private, of limited size, and never a reason to fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand._util import compile_cache
from evenhand._util.compile_cache import cache_folder, enable_compile_cache, prune

COMPILES = """
from evenhand._util.compile_cache import enable_compile_cache
print(enable_compile_cache())
import jax, jax.numpy as jnp
print(float(jnp.arange(7.0).sum()))
print(float(jax.jit(lambda x: jnp.linalg.norm(jnp.sin(x) @ jnp.cos(x).T))(jnp.ones((3, 4)))))
"""
EVERYTHING = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}  # is worth an entry


@pytest.fixture
def clean(monkeypatch):
    """No cache set up, neither by the user nor by the tests."""
    for name in list(os.environ):
        if name.startswith(("JAX_", "EVENHAND_CACHE")):
            monkeypatch.delenv(name)
    return monkeypatch


def compile_with(cache: Path | str) -> subprocess.CompletedProcess[str]:
    environment = {name: x for name, x in os.environ.items() if not name.startswith("JAX_")}
    return subprocess.run(
        [sys.executable, "-c", COMPILES],
        env={**environment, "EVENHAND_CACHE": str(cache), **EVERYTHING},
        capture_output=True,
        text=True,
        check=True,
    )


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*-cache") if path.is_file())


@pytest.mark.parametrize("word", ["off", "0", "", "No", "FALSE"])
def test_it_can_be_switched_off(clean, word):
    clean.setenv("EVENHAND_CACHE", word)
    assert cache_folder() is None
    assert enable_compile_cache() is None
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_it_lies_in_the_users_cache_folder_unless_moved(clean, tmp_path):
    clean.setattr(sys, "platform", "linux")
    clean.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().is_relative_to(tmp_path / "xdg" / "evenhand")
    clean.setenv("EVENHAND_CACHE", str(tmp_path / "moved"))
    assert cache_folder().is_relative_to(tmp_path / "moved")


def test_another_processor_has_entries_of_its_own(clean, tmp_path):
    clean.setenv("EVENHAND_CACHE", str(tmp_path))
    here = cache_folder()
    clean.setattr(compile_cache.platform, "machine", lambda: "another")
    assert cache_folder() != here


def test_only_its_owner_can_read_and_write_it(clean, tmp_path):
    clean.setenv("EVENHAND_CACHE", str(tmp_path))
    folder = cache_folder()
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert enable_compile_cache() == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(folder)


def test_a_folder_that_is_a_link_or_somebody_elses_is_not_used(clean, tmp_path):
    clean.setenv("EVENHAND_CACHE", str(tmp_path / "cache"))
    folder = cache_folder()
    folder.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    assert enable_compile_cache() is None
    folder.unlink()
    clean.setattr(os, "getuid", lambda: -1)
    assert enable_compile_cache() is None


def test_a_cache_that_the_user_set_up_for_jax_is_left_alone(clean, tmp_path):
    clean.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "own"))
    clean.setenv("EVENHAND_CACHE", str(tmp_path / "ours"))
    assert enable_compile_cache() is None
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "own")
    assert not (tmp_path / "ours").exists()


def test_the_oldest_entries_go_when_it_has_grown_too_large(tmp_path):
    for age in range(10):
        path = tmp_path / f"{age}-cache"
        path.write_bytes(bytes(100))
        os.utime(path, (1000 - age, 1000 - age))
    prune(tmp_path, 1000)
    assert len(entries(tmp_path)) == 10
    prune(tmp_path, 900)
    assert [path.name[0] for path in entries(tmp_path)] == list("0123456")


@pytest.mark.system
def test_what_was_compiled_is_found_again_and_what_is_corrupt_is_no_error(tmp_path):
    first = compile_with(tmp_path)
    kept = entries(tmp_path)
    assert len(kept) >= 4
    assert compile_with(tmp_path).stdout == first.stdout
    for number, path in enumerate(kept):  # cut off, empty, changed, and not of this kind at all
        content = path.read_bytes()
        changed = content[:40] + bytes(x ^ 255 for x in content[40:80]) + content[80:]
        path.write_bytes((content[: len(content) // 2], b"", changed, b"nonsense")[number % 4])
    again = compile_with(tmp_path)
    assert (again.stdout, again.stderr) == (first.stdout, "")


@pytest.mark.system
def test_an_unwritable_cache_is_no_error(tmp_path):
    (tmp_path / "a file").write_text("")
    for place in (tmp_path / "a file", tmp_path / "a file" / "below", "a" * 5000):
        run = compile_with(place)
        assert run.stdout.splitlines()[0] == "None"
        assert run.stderr == ""
