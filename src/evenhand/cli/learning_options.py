"""The options of verbs that plan and learn: the environment, the method, the budget."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.errors import BadParameter

if TYPE_CHECKING:
    from evenhand.envs import Environment
    from evenhand.lab.executors import Executor


# The environment that the options of a command ask for.

# Constructor arguments, and the options that set them.
OPTIONS = {"num_stakeholders": "--stakeholders", "horizon": "--horizon", "presence": "--presence"}
# The largest that an option may be. Whether what was asked for fits into memory depends on several
# of them, and is looked at where it is known; beyond these nothing would.
LARGEST = {
    "--stakeholders": 100_000,
    "--horizon": 1_000_000,  # decisions
    "--seed": 2**32 - 1,  # of which a random key is made
    "--seeds": 10_000,
    "--steps": 10**10,
    "--episodes": 10**8,
}


def at_most(option: str) -> Callable[[int | None], int | None]:
    """What looks at the value of an option as soon as it is read."""

    def looked_at(value: int | None) -> int | None:
        require_at_most(option, value)
        return value

    return looked_at


def require_at_most(option: str, value: int | None) -> None:
    """Refuse more than makes sense, before anything is made of that size.

    >>> require_at_most("--seeds", 10)
    """
    if value is not None and value > LARGEST[option]:
        written = f"{value:,}" if value < 10**20 else "a number of more than 20 digits"
        raise BadParameter(f"{option} is {written}: it must be at most {LARGEST[option]:,}.")


def environment_options(
    name: str, stakeholders: int | None, horizon: int | None, presence: str | None
) -> tuple[type[Environment], dict[str, Any]]:
    """The environment of a name, and the constructor arguments that were given for it."""
    from evenhand.envs import ENVIRONMENTS
    from evenhand.envs.own_environment import load_environment

    kind = load_environment(name) if ":" in name else ENVIRONMENTS.get(name)
    require_at_most("--stakeholders", stakeholders)
    require_at_most("--horizon", horizon)
    given = {
        "num_stakeholders": stakeholders,
        "horizon": horizon,
        "presence": None if presence is None else parse_chances(presence),
    }
    given = {argument: value for argument, value in given.items() if value is not None}
    for argument in given:
        if argument not in kind.options:  # type: ignore[attr-defined]
            takes = [OPTIONS[known] for known in kind.options]  # type: ignore[attr-defined]
            hint = f"it takes {' and '.join(takes)}" if takes else "leave it out"
            raise BadParameter(f"{name} has no {OPTIONS[argument]}: {hint}.")
    return kind, given


def build_environment(kind: type[Environment], arguments: Mapping[str, Any]) -> Environment:
    """The environment of these arguments; refuses one that needs more than options can say."""
    from evenhand.envs.own_environment import require_environment

    try:
        built = kind(**arguments)
    except TypeError as error:
        raise BadParameter(
            f"{kind.__name__} cannot be built from the options alone: {error}. Give its other "
            "arguments defaults, or use it from Python."
        ) from None
    if not kind.__module__.startswith("evenhand."):
        require_environment(built)
    return built


def parse_chances(text: str) -> float | tuple[float, ...]:
    """One chance for all, or one each, as typed."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise BadParameter(
            f"--presence is {text!r}: give one number, or one each with commas, such as 0.9,0.5."
        ) from None
    return numbers[0] if len(numbers) == 1 else numbers


# What the verbs of learning share: their options, the world they are asked for, a bar.

MAX_STATES_IN_TABLES = 20_000  # beyond it networks are the default
IN_TABLES = 100_000  # steps that tables learn from where nothing is said

EnvironmentArgument = Annotated[
    str,
    typer.Argument(help="The environment: doughnuts, lending, lending_gaussian, or another one."),
]
Stakeholders = Annotated[int | None, typer.Option(help="How many stakeholders (doughnuts).", min=1)]
Horizon = Annotated[int | None, typer.Option(help="How many decisions an episode has.", min=1)]
Presence = Annotated[
    str | None,
    typer.Option(help="The chance to be present, one for all or one each: 0.8 or 0.9,0.5."),
]
Recipe = Annotated[
    str,
    typer.Option(
        help="default: derived from the problem. paper: the appendix's numbers. best: ours for the "
        "paper's problems."
    ),
]
SchemeOption = Annotated[
    Path | None, typer.Option(help="A scheme file, in place of the environment's own scheme.")
]
Seeds = Annotated[
    int, typer.Option(help="How many runs, side by side.", min=1, callback=at_most("--seeds"))
]
Seed = Annotated[int, typer.Option(help="The first seed.", min=0, callback=at_most("--seed"))]
Steps = Annotated[
    int | None,
    typer.Option(
        help="Environment steps of each run (networks: 1000 episodes, and at least 30000; tables: "
        "100000).",
        min=100,
        callback=at_most("--steps"),
    ),
]
Episodes = Annotated[
    int | None,
    typer.Option(
        help="Episodes of each run, in place of --steps; with networks.",
        min=1,
        callback=at_most("--episodes"),
    ),
]
Deep = Annotated[
    bool | None,
    typer.Option(
        "--deep/--tabular",
        help="Networks or tables. Default: networks if --episodes is given, or if there are "
        "too many states for tables.",
    ),
]
MemoryOption = Annotated[
    str | None, typer.Option(help="Another memory for FairQCM, such as full or min.")
]
ProposalOption = Annotated[
    str | None,
    typer.Option(
        help="What FairQCM imagines: above, around, all, reachable, visited, some_above, "
        "some_around, replayed, none."
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        metavar="local|ADDRESS",
        help="Spread it over a Ray cluster: local starts one on this machine's cores, an address "
        "(HOST:PORT, ray://HOST:PORT or auto) joins one. Default: processes on all cores.",
    ),
]


def executor(ray: str | None) -> Executor | None:
    """Where the work is to be done; by default this machine's processes."""
    if ray is None:
        return None
    from evenhand.lab.ray_cluster import OnRay

    return OnRay(ray)


def world(
    name: str,
    deep: bool | None,
    episodes: int | None,
    stakeholders: int | None,
    horizon: int | None,
    presence: str | None,
) -> tuple[Environment, bool]:
    """The environment asked for, and whether it is for networks."""
    kind, given = environment_options(name, stakeholders, horizon, presence)
    small = build_environment(kind, {**kind.small, **given})
    states = small.table_size()
    if deep is None:
        deep = episodes is not None or states is None or states > MAX_STATES_IN_TABLES
    if not deep and states is None:
        raise BadParameter(f"{name} is too large for tables: leave --tabular out.")
    return (build_environment(kind, given) if deep else small), deep


def length(environment: Environment, deep: bool, steps: int | None, episodes: int | None) -> int:
    """How many steps a run has."""
    if steps is not None and episodes is not None:
        raise BadParameter("give --steps or --episodes, not both.")
    if episodes is not None:
        total = episodes * environment.horizon
        if total > LARGEST["--steps"]:
            raise BadParameter(
                f"--episodes {episodes:,} of {environment.horizon:,} decisions are {total:,} "
                f"steps: at most {LARGEST['--steps']:,} are learned, so ask for fewer."
            )
        return total
    if steps is not None:
        return steps
    if not deep:
        return IN_TABLES
    from evenhand.learn.recipe import default_steps

    return default_steps(environment.horizon)


def chosen_seeds(first: int, number: int) -> tuple[int, ...]:
    """So many seeds from the first on."""
    require_at_most("--seed", first + number - 1)
    return tuple(range(first, first + number))


def variants(
    memory: str | None, proposal: str | None, scheme: Path | None = None
) -> dict[str, Any]:
    """Another memory and proposal, by name, with their default parameters, and another scheme."""
    from evenhand.fairness.scheme import from_table, read_scheme_file
    from evenhand.learn.imagined_memories import PROPOSALS
    from evenhand.memory.memory import memory_from_table

    return {
        "memory": None if memory is None else memory_from_table(memory),
        "proposal": None if proposal is None else from_table(proposal, PROPOSALS, "proposal"),
        "scheme": None if scheme is None else read_scheme_file(scheme),
    }


@contextlib.contextmanager
def learning_bar(hidden: bool, horizon: int) -> Iterator[Callable[..., None]]:
    """A bar moved by show(method, done, of, score, regret): episode, score, regret, time left."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=Console(stderr=True), disable=hidden, transient=True
    ) as progress:
        task = progress.add_task("learning (compiling first)", total=None)

        def show(
            method: str,
            done: int,
            of: int,
            score: float,
            lost: float | None = None,
            at: int | None = None,  # where the method is, if the bar is of several
        ) -> None:
            words = f"{method}, episode {(at or done) // horizon:,}, score {score:,.2f}"
            words += "" if lost is None else f", regret {lost:,.2f}"
            progress.update(task, description=words, completed=done, total=of)

        yield show
