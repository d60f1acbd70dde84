"""The classes of one kind by the names people type: on the command line and in files.

Each kind has its registry beside it, and a class is registered where it is defined. So can a
user's own class be: it is then known by name like a built-in one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar, overload

from evenhand._util import plugins
from evenhand.errors import BadParameter, UnknownName

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
        plugins.note_module(cls.__module__)
        return cls

    def get(self, name: str) -> type:
        """The class of a name; the error for an unknown name suggests the nearest one."""
        if name not in self._classes and plugins.load_plugins():
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
        plugins.load_plugins()
        return {name: (cls.__doc__ or "").split("\n")[0] for name, cls in self._classes.items()}


def _same(known: type, cls: type) -> bool:
    """Whether it is the same class, perhaps of a module or notebook cell that was run again."""
    return (known.__module__, known.__qualname__) == (cls.__module__, cls.__qualname__)
