"""The classes of one kind by the names people type; modules of users, extras and lazy exports."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, overload

from evenhand.errors import BadParameter, MissingExtra, UnknownName

# Which extra of evenhand brings a package, and the sentence that says so where it is missing.

# The packages of each extra that our code imports, by the names that Python knows them by.
EXTRAS = {
    "learn": ("automata", "equinox", "gymnasium", "jax", "jaxlib", "optax"),
    "serve": (
        *("fastapi", "httptools", "itsdangerous", "multipart", "python_multipart", "uvicorn"),
        "uvloop",
    ),
    "sb3": ("stable_baselines3", "torch"),
    "mo": ("mo_gymnasium",),
    "ray": ("ray",),
    "spark": ("pyspark",),
    "sql": ("ibis", "psycopg", "sqlglot"),
    "excel": ("xlsxwriter",),
}


def missing_extra(error: ModuleNotFoundError) -> MissingExtra | None:
    """The sentence about a package that could not be imported; None if no extra brings it."""
    package = (error.name or "").partition(".")[0]
    for extra, packages in EXTRAS.items():
        if package in packages:
            return MissingExtra(
                f"this needs {package}, which is not installed: pip install 'evenhand[{extra}]'."
            )
    return None


def not_installed(package: str) -> MissingExtra:
    """The same, of a package of an extra by its name."""
    missing = missing_extra(ModuleNotFoundError(name=package))
    assert missing is not None, f"{package} is in no extra"
    return missing


def require_packages(*packages: str) -> None:
    """Refuse in a sentence, before anything is done, where one of an extra's packages is missing.

    Nothing is loaded, only looked for.
    """
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise not_installed(package)


@contextlib.contextmanager
def naming_the_extra() -> Iterator[None]:
    """What is imported meanwhile and is not installed is a plain sentence."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise missing from None


# Names that a package exports and loads when they are first used.


def lazy_exports(
    package: str, home: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package whose names live in modules below it.

        __getattr__, __dir__, __all__ = lazy_exports(__name__, {"learn.fairqcm": ("FairQCM",)})

    Args:
        package: The package's own `__name__`.
        home: The names that each module has, by the module's name without the package's, or by its
            whole name where it lies outside the package.
    """
    module_of = {
        name: module if module.startswith("evenhand.") else f"{package}.{module}"
        for module, names in home.items()
        for name in names
    }

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with naming_the_extra():
            value = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)  # found there the next time
        return value

    names = sorted(module_of)
    return load, lambda: list(sys.modules[package].__all__), names


# Modules of users that register classes by name, imported when a name is not known.
#
# They are named by packages (the entry point group `evenhand.plugins`) and by the environment
# variable EVENHAND_PLUGINS: modules, or files that end in .py, with commas between them.

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


# The classes of one kind by the names people type: on the command line and in files.
#
# Each kind has its registry beside it, and a class is registered where it is defined. So can a
# user's own class be: it is then known by name like a built-in one.

C = TypeVar("C", bound=type)


class Registry:
    """The classes of one kind by name.

    >>> COLOURS = Registry("colour")
    >>> @COLOURS.register("red")
    ... class Red:
    ...     "The colour of a ripe tomato."
    >>> COLOURS.get("red") is Red, COLOURS.name_of(Red())
    (True, 'red')
    """

    def __init__(self, kind: str, classes: Mapping[str, type] | None = None) -> None:
        self.kind = kind
        self._classes: dict[str, type] = {}
        for name, cls in (classes or {}).items():
            self.register(name, cls)

    @property
    def classes(self) -> Mapping[str, type]:
        """Every class by its name, in the order in which they were registered."""
        return MappingProxyType(self._classes)

    @overload
    def register(self, name: str, cls: C) -> C: ...
    @overload
    def register(self, name: str) -> Callable[[C], C]: ...
    def register(self, name: str, cls: C | None = None) -> C | Callable[[C], C]:
        """Make a class known by a name; without a class, a decorator that does so."""
        if cls is None:
            return lambda decorated: self.register(name, decorated)
        known = self._classes.get(name)
        if known is not None and not _same(known, cls):
            raise BadParameter(
                f"the {self.kind} {name!r} is registered already, as {known.__qualname__} of "
                f"{known.__module__}: choose another name."
            )
        self._classes[name] = cls
        note_module(cls.__module__)
        return cls

    def get(self, name: str) -> type:
        """The class of a name; the error for an unknown name suggests the nearest one."""
        if name not in self._classes and load_plugins():
            return self.get(name)
        if name not in self._classes:
            near = difflib.get_close_matches(name, self._classes, n=1)
            known = ", ".join(self._classes)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {known}."
            raise UnknownName(f"there is no {self.kind} called {name!r}: {hint}")
        return self._classes[name]

    def name_of(self, thing: Any) -> str | None:
        """The last name that an object's class was registered under; None if there is none."""
        names = (name for name, cls in reversed(self._classes.items()) if type(thing) is cls)
        return next(names, None)

    def lines(self) -> dict[str, str]:
        """Each name with the first line of its class's documentation, plugins included."""
        load_plugins()
        return {name: (cls.__doc__ or "").split("\n")[0] for name, cls in self._classes.items()}


def _same(known: type, cls: type) -> bool:
    """Whether it is the same class, perhaps of a module or notebook cell that was run again."""
    return (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
