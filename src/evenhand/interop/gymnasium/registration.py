"""Our environments by the names that Gymnasium knows: `gymnasium.make("evenhand/Doughnuts-v0")`.

Gymnasium has no plugins any more, and to load it takes longer than `import evenhand` may. So
`import evenhand` only asks to be told when somebody loads Gymnasium, and registers then.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# The name with Gymnasium, and the one in `envs.ENVIRONMENTS`.
REGISTERED = {
    "Doughnuts": "doughnuts",
    "Lending": "lending",
    "GaussianLending": "lending_gaussian",
    "Vaccines": "vaccines",
    "WaitingList": "waiting_list",
}


def register_environments() -> None:
    """Register every environment, with a scalar reward and (MO-…) with a reward a stakeholder."""
    from gymnasium.envs.registration import register, registry

    for name, world in REGISTERED.items():
        for prefix, form in (("", "WorldEnv"), ("MO-", "VectorRewardEnv")):
            known = f"evenhand/{prefix}{name}-v0"
            if known not in registry:
                register(
                    id=known,
                    entry_point=f"evenhand.interop.gymnasium.environments:{form}",
                    vector_entry_point=f"evenhand.interop.gymnasium.vector_envs:{form}s",
                    kwargs={"world": world},
                )


def register_when_loaded() -> None:
    """Register now if Gymnasium is loaded, and otherwise as soon as it is."""
    if sys.modules.get("gymnasium") is not None:
        register_environments()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


class _Waiting(importlib.abc.MetaPathFinder):
    """Looks on until Gymnasium is imported, then steps aside."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(importlib.abc.Loader):
    """Loads a module as its own loader would, and registers our environments after."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its own loader, which knows its files and resources.
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        register_environments()
