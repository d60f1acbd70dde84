"""A run before anything is learned: which method, on which environment, with which seeds, how long.

One object from the command line to the process that trains. It is written as JSON where it leaves
a process (to a file, to a worker), and nowhere else. It stands apart from `runs` because that loads
jax, which a worker does only on a core of its own.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from evenhand import __version__
from evenhand._util.checks import require_whole
from evenhand._util.saved import reading_saved
from evenhand._util.wording import short_repr
from evenhand.errors import BadFile, BadParameter

# Environments, memories and proposals load jax: they are imported by the functions that make them.
if TYPE_CHECKING:
    from evenhand.envs import Environment
    from evenhand.fairness.scheme import FairnessScheme
    from evenhand.lab.runs import Agent, Progress, Run
    from evenhand.learn.deep.agent import DeepAgent
    from evenhand.learn.imagined_memories import Proposal
    from evenhand.memory.memory import Memory

Setting = bool | int | float | str | None

LARGEST_SEED = 2**32 - 1  # that a random key is made of
MOST_EVERY = 2**31 - 1  # steps of one compiled loop
MOST_STEPS = 10**12  # years of learning
MOST_EPISODES = 10**6  # that an evaluation is the mean of

# What a process takes beside what it learned, and how often it holds that: measured, rounded up.
PROCESS_BYTES, COPIES = 600_000_000, 4

# What a setting of a deep agent may be, by the type that the agent names.
_SETTING_TYPES: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "int | None": (int, type(None)),
    "float": (int, float),
}


@dataclass(frozen=True)
class RunSpec:
    """One method with all its seeds, before anything is learned.

    Args:
        environment: What is learned in.
        method: A method of the recipes, such as "fairqcm" or "full".
        seeds: The random seed of each learner; none twice.
        steps: How many environment steps each learner takes.
        every: After how many steps each evaluation comes; a divisor of `steps`.
        recipe: "default", "paper" or "best".
        deep: Whether the method learns with networks rather than tables.
        memory: A memory in place of the recipe's.
        proposal: A proposal in place of the recipe's.
        scheme: The fairness scheme in place of the environment's own.
        settings: Fields of a deep agent in place of the recipe's, and `script_mistakes`.
        evaluation: How many episodes every evaluation is the mean of (deep); None: 100, and 1,000
            for the last.
        start: A policy file whose weights the learners begin with (deep).
        version: The version of evenhand that the run was begun with.
    """

    environment: Environment
    method: str
    seeds: tuple[int, ...]
    steps: int
    every: int
    recipe: str = "paper"
    deep: bool = False
    memory: Memory | None = None
    proposal: Proposal | None = None
    scheme: FairnessScheme | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict, hash=False)
    evaluation: int | None = None
    start: str | None = None
    version: str = __version__

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", tuple(self.seeds))
        object.__setattr__(self, "settings", dict(self.settings))
        require_whole(self.steps, "steps", most=MOST_STEPS)
        require_whole(self.every, "every", most=MOST_EVERY)
        if self.evaluation is not None:
            require_whole(self.evaluation, "evaluation", most=MOST_EPISODES)
        for name in ("method", "recipe", "version"):
            if not isinstance(getattr(self, name), str):
                raise BadParameter(f"{name} is {getattr(self, name)!r}: it must be a text.")
        if self.start is not None and not (self.deep and isinstance(self.start, str)):
            raise BadParameter("start is a policy file to begin with, for networks (deep).")
        if not isinstance(self.deep, bool):
            raise BadParameter(f"deep is {self.deep!r}: it must be True or False.")
        if self.steps % self.every:
            raise BadParameter(
                f"steps is {self.steps} and every is {self.every}: steps must be a multiple of it."
            )
        for seed in self.seeds:
            require_whole(seed, "a seed", least=0, most=LARGEST_SEED)
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise BadParameter("seeds must name at least one seed, and none of them twice.")
        if self.settings and not self.deep:
            raise BadParameter("settings are those of deep agents: set deep=True, or leave them.")
        for name, value in self.settings.items():
            if not isinstance(value, Setting):
                raise BadParameter(
                    f"the setting {name!r} is {type(value).__name__}: it must be a number, a text, "
                    "a truth value or None, so that it can be saved with the run."
                )

    @property
    def title(self) -> str:
        """The method and its seeds."""
        last = f" to {self.seeds[-1]}" if len(self.seeds) > 1 else ""
        return f"{self.method}, seed{'s' if last else ''} {self.seeds[0]}{last}"

    def with_seeds(self, seeds: tuple[int, ...]) -> RunSpec:
        """The same run with other seeds."""
        return replace(self, seeds=seeds)

    def for_method(self, method: str) -> RunSpec:
        """The same run of another method; memory and proposal are FairQCM's alone."""
        if method == "fairqcm":
            return replace(self, method=method)
        return replace(self, method=method, memory=None, proposal=None)

    def describe(self) -> str:
        """The method, and what of it is not the recipe's."""
        table = self.to_json()
        words = f"{self.method}, {self.recipe} recipe"
        for part in ("memory", "proposal"):
            if table[part] is not None:
                several = table[part] if isinstance(table[part], list) else [table[part]]
                names = [one if isinstance(one, str) else one["name"] for one in several]
                words += f", {part} {' and '.join(names)}"
        return words

    def build(self) -> Agent:
        """The agent to train."""
        from evenhand.lab.recipes import deep_learner, tabular_learner, with_script_mistakes

        what = self.environment, self.method, self.recipe, self.memory, self.proposal, self.scheme
        if not self.deep:
            return tabular_learner(*what)
        agent = deep_learner(*what, steps=self.steps)
        settings: dict[str, Any] = dict(self.settings)
        _require_settings(agent, settings)
        if settings.pop("script_mistakes", False):
            settings["problem"] = with_script_mistakes(agent.problem)
        return replace(agent, **settings) if settings else agent

    def run(self, path: str | os.PathLike[str] | None, progress: Progress | None) -> Run:
        """Train it, from wherever the file says it is."""
        from evenhand.lab.runs import train

        return train(_agent_for(self.with_seeds((0,))), self, path, progress)

    def bytes_needed(self) -> int:
        """How much memory a process takes to train it."""
        from evenhand.lab.training import bytes_of_learner

        learned = len(self.seeds) * bytes_of_learner(_agent_for(self.with_seeds((0,))))
        return PROCESS_BYTES + COPIES * learned

    def to_json(self) -> dict[str, Any]:
        """The run in words and numbers that JSON has."""
        from evenhand.envs import ENVIRONMENTS
        from evenhand.fairness.scheme import to_table, to_toml
        from evenhand.learn.imagined_memories import PROPOSALS
        from evenhand.memory.memory import memory_to_table

        plain = {spec.name: getattr(self, spec.name) for spec in fields(self)}
        return plain | {
            "environment": to_table(self.environment, ENVIRONMENTS),
            "memory": None if self.memory is None else memory_to_table(self.memory),
            "proposal": None if self.proposal is None else to_table(self.proposal, PROPOSALS),
            "scheme": None if self.scheme is None else to_toml(self.scheme),
            "seeds": list(self.seeds),
            "settings": dict(self.settings),
        }

    @classmethod
    def from_json(cls, table: Mapping[str, Any]) -> RunSpec:
        """The run that was written so."""
        from evenhand.envs import ENVIRONMENTS
        from evenhand.fairness.scheme import from_table, from_toml
        from evenhand.learn.imagined_memories import PROPOSALS
        from evenhand.memory.memory import memory_from_table

        names = {spec.name for spec in fields(cls)}
        if not isinstance(table, Mapping):
            raise BadFile(f"a run is {short_repr(table)}: it must be a table of names and values.")
        for name, kind in (("seeds", list), ("settings", dict)):
            if not isinstance(table.get(name, kind()), kind):
                raise BadFile(f"{name} is {short_repr(table[name])}: it must be a {kind.__name__}.")
        if set(table) != names:
            odd = ", ".join(sorted(names.symmetric_difference(table)))
            raise BadFile(f"this is not a run as evenhand {__version__} writes it: see {odd}.")
        environment = from_table(table["environment"], ENVIRONMENTS, "environment")
        parts: dict[str, Any] = {"environment": environment}
        if table["memory"] is not None:
            parts["memory"] = memory_from_table(table["memory"])
        if table["proposal"] is not None:
            parts["proposal"] = from_table(table["proposal"], PROPOSALS, "proposal")
        if table["scheme"] is not None:
            parts["scheme"] = from_toml(require_text("scheme", table["scheme"]))
        return cls(**{**table, **parts})


@functools.lru_cache(maxsize=2)
def _agent_for(spec: RunSpec) -> Agent:
    """Built once for all blocks that a process does of a method: the next ones are compiled."""
    return spec.build()


def spec_in(header: Mapping[str, Any], path: str | os.PathLike[str], kind: Any = RunSpec) -> Any:
    """The run that the header of a run or policy file describes, a `RunSpec` or of another kind."""
    if "spec" not in header:
        if "config" in header:
            raise BadFile(
                f"{path} was written by evenhand 0.1.0, which described runs in another way: "
                "remove it and train again, or name another file."
            )
        raise BadFile(f"{path} does not say how it was trained: score it from Python instead.")
    with reading_saved(path, "run"):
        return kind.from_json(header["spec"])


def require_text(name: str, value: Any) -> str:
    """Refuse what is not a text."""
    if not isinstance(value, str):
        raise BadFile(f"{name} is {short_repr(value)}: it must be a text.")
    return value


def _require_settings(agent: DeepAgent, settings: Mapping[str, Setting]) -> None:
    """Refuse settings that the agent does not have, or not of that type."""
    types = {spec.name: _SETTING_TYPES.get(str(spec.type), ()) for spec in fields(agent)}
    types["script_mistakes"] = (bool,)
    for name, value in settings.items():
        allowed = types.get(name, ())
        if not allowed:
            known = ", ".join(sorted(name for name, kinds in types.items() if kinds))
            raise BadParameter(
                f"there is no setting {name!r} of a {type(agent).__name__}: {known}."
            )
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            needed = " or ".join(kind.__name__ for kind in allowed)
            raise BadParameter(f"the setting {name!r} is {short_repr(value)}: it must be {needed}.")
