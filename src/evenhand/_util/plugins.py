"""Modules of users that register classes by name, imported when a name is not known.

They are named by packages (the entry point group `evenhand.plugins`) and by the environment
variable EVENHAND_PLUGINS: modules, or files that end in .py, with commas between them.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from evenhand.errors import BadParameter

VARIABLE = "EVENHAND_PLUGINS"
GROUP = "evenhand.plugins"

_registering: dict[str, None] = {}  # modules of users whose classes were registered, in order
_loaded: set[str] = set()
_own: set[str] = set()  # modules of users, whether or not they registered anything


def note_module(name: str) -> None:
    """Remember a module that registered a class, so that other processes can import it too."""
    if name.split(".")[0] != "evenhand":
        _registering[name] = None
        _own.add(name)


def note_own(name: str) -> None:
    """Remember a module of a user's that is run: what it raises is not a mistake of ours."""
    _own.add(name)


def own_files() -> set[str]:
    """The files of the modules of users that were imported."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in _own)
    return {file for file in files if file is not None}


def load_plugins() -> bool:
    """Import the plugins that are not imported yet; whether there were any."""
    named = [part.strip() for part in os.environ.get(VARIABLE, "").split(",") if part.strip()]
    named += [entry.value for entry in importlib.metadata.entry_points(group=GROUP)]
    fresh = [name for name in named if name not in _loaded]
    for name in fresh:
        _loaded.add(name)
        try:
            _import(name)
        except ImportError as error:
            raise BadParameter(
                f"the plugin {name} cannot be imported: {error}; it is named in {VARIABLE} or by "
                "an installed package."
            ) from None
    return bool(fresh)


def child_environment() -> dict[str, str]:
    """Environment variables with which another Python process finds what is registered here."""
    modules = [_importable(name) for name in _registering if name != "__main__"]
    if not modules:
        return {}
    named = [os.environ.get(VARIABLE, ""), *modules]
    path = [os.environ.get("PYTHONPATH", ""), *sys.path]
    return {
        VARIABLE: ",".join(dict.fromkeys(name for name in named if name)),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(folder for folder in path if folder)),
    }


def _importable(name: str) -> str:
    """A module by its name, or by its file where the name is not found on the path."""
    spec = PathFinder.find_spec(name.split(".")[0])
    file = getattr(sys.modules.get(name), "__file__", None)
    found = spec is not None and (file is None or "." in name or spec.origin == file)
    return name if found else str(file or name)


def _import(name: str) -> None:
    if not name.endswith(".py"):
        importlib.import_module(name)
        return
    module = Path(name).stem
    spec = importlib.util.spec_from_file_location(module, name)
    if spec is None or spec.loader is None or not Path(name).exists():
        raise ImportError(f"there is no file {name}")
    loaded = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(module, loaded)
    spec.loader.exec_module(loaded)
