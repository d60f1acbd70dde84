"""A user's own environment by its place, `module:Class`: found, and looked at before it is used.

The module is looked for in the current folder and on Python's path. A class found so is known by
that name from then on, so that a file can say which one it needs.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from typing import Any

import jax

from evenhand._util.checks import require_whole
from evenhand._util.registry import VARIABLE, load_plugins, note_own
from evenhand.envs.environment import Environment, OutcomesNotFinite
from evenhand.errors import BadParameter, EvenhandError
from evenhand.problem.problem import ENVIRONMENTS


def load_class(name: str) -> type:
    """The class that `module:Class` names, whatever it is; its module is imported."""
    module_name, _, class_name = name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), class_name)):
        raise BadParameter(
            f"{name!r} does not name a class: write module:Class, such as my_module:MyWorld."
        )
    note_own(module_name)
    kind = getattr(_module(module_name, name), class_name, None)
    if not isinstance(kind, type):
        what = f"has no class {class_name}" if kind is None else f"has {class_name}, not a class"
        raise BadParameter(f"the module {module_name} {what}: check the name after the colon.")
    return kind


def load_environment(name: str) -> type[Environment]:
    """The environment that `module:Class` names; it is imported and registered under that name."""
    kind = load_class(name)
    if not issubclass(kind, Environment):
        raise BadParameter(
            f"{name} is not an evenhand.envs.Environment: subclass it. Gymnasium environments are "
            "for train and evaluate alone; from Python, see evenhand.interop.gymnasium_learner."
        )
    missing = sorted(getattr(kind, "__abstractmethods__", ()))
    if missing:
        raise BadParameter(f"{name} lacks {', '.join(missing)}: an environment must define them.")
    # Also where it has another name: a file must say where the class is to be found.
    ENVIRONMENTS.register(name, kind)
    return kind


def load_named(table: Any) -> None:
    """Import the environment that a saved run or policy names, if it is one of a user's own.

    Args:
        table: The environment as a file describes it: a name, or a table with a name.
    """
    name = table.get("name") if isinstance(table, dict) else table
    if isinstance(name, str) and ":" in name and name not in ENVIRONMENTS.classes:
        load_environment(name)


def know_imported(table: Any) -> None:
    """Know the environment that a file names, if it is one of a user's own; nothing is imported.

    A file must not decide which code is run, so the module has to be there already.

    Args:
        table: The environment as a file describes it: a name, or a table with a name.
    """
    name = table.get("name") if isinstance(table, dict) else table
    if not isinstance(name, str) or ":" not in name or name in ENVIRONMENTS.classes:
        return
    module = name.partition(":")[0]
    if module.partition(".")[0] == "evenhand":  # whose environments have names
        return
    if module not in sys.modules:
        load_plugins()
    if module not in sys.modules:
        raise BadParameter(
            f"it needs the environment {name}, which is code of somebody's own: import the module "
            f"{module} first, or name it in {VARIABLE}."
        )
    load_environment(name)


def require_environment(environment: Environment) -> None:
    """Refuse an environment that breaks the interface, method by method, before it is run."""
    name = type(environment).__name__
    for what in ("num_stakeholders", "num_actions", "horizon"):
        require_whole(getattr(environment, what), f"{name}.{what}")
    try:
        hash(environment)
    except TypeError as error:
        raise BadParameter(
            f"{name} cannot be hashed ({error}): make it a frozen dataclass, with tuples in place "
            "of lists."
        ) from None
    key = jax.random.key(0)
    state = _shapes(name, "start and draw", environment.initial, key)
    if not hasattr(state.world, "time"):
        raise BadParameter(
            f"{name}.start gives a world without `time`: let it be a NamedTuple with the number of "
            "steps so far."
        )
    after = _shapes(name, "outcomes", environment.answer, key, *state, 0)
    _require_same(name, "outcomes", state.world, after)
    rewards = _shapes(name, "rewards", environment.rewards, state, 0, after)
    _require_shape(name, "rewards", rewards, (environment.num_stakeholders,), "one per stakeholder")
    seen = _shapes(name, "observation", environment.observation, state)
    if len(getattr(seen, "shape", ())) != 1:
        raise BadParameter(f"{name}.observation gives {_form(seen)}: it must be a vector.")
    applies, value = _shapes(name, "override", environment.override, state, 0, after)
    for part in (applies, value):
        _require_shape(name, "override", part, (), "one number")
    labels = environment.exchangeable()
    if len(labels) != environment.num_stakeholders:
        raise BadParameter(
            f"{name}.exchangeable gives {len(labels)} labels for {environment.num_stakeholders} "
            "stakeholders: give one each."
        )


def _module(module_name: str, name: str) -> Any:
    if module_name in sys.modules:
        return sys.modules[module_name]
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and module_name.startswith(error.name):
            raise BadParameter(
                f"there is no module {module_name} for {name}: it is looked for in {here} and on "
                "Python's path."
            ) from None
        raise BadParameter(f"{module_name} cannot be imported: {error}.") from None
    except EvenhandError:
        raise
    except Exception as error:  # whatever the user's module does
        raise BadParameter(
            f"{module_name} cannot be imported: {type(error).__name__}: {error}."
        ) from None


def _shapes(name: str, method: str, function: Any, *arguments: Any) -> Any:
    """What a method gives, in shapes alone; what it raises is said in a sentence."""
    try:
        return jax.eval_shape(function, *arguments)
    except OutcomesNotFinite:
        raise
    except EvenhandError:
        raise
    except Exception as error:  # whatever the user's method does
        said = inspect.cleandoc(str(error)).split("\n")[0]
        raise BadParameter(f"{name}.{method} fails: {type(error).__name__}: {said}") from None


def _require_same(name: str, method: str, before: Any, after: Any) -> None:
    """A world must keep its form from step to step, or it cannot be compiled."""
    old_form: Any = jax.tree.structure(before)
    if old_form != jax.tree.structure(after):
        raise BadParameter(f"{name}.{method} gives a world of another form than start does.")
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise BadParameter(
                f"{name}.{method} gives {_form(new)} in the world where start has {_form(old)}: "
                "they must be alike."
            )


def _require_shape(name: str, method: str, found: Any, shape: tuple[int, ...], what: str) -> None:
    if getattr(found, "shape", None) != shape:
        raise BadParameter(f"{name}.{method} gives {_form(found)}: it must be {what}, {shape}.")


def _form(leaf: Any) -> str:
    if not hasattr(leaf, "shape"):
        return type(leaf).__name__
    return f"numbers of shape {leaf.shape} and type {leaf.dtype}"
