"""`evenhand plan`: how fair a policy could be at best."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli.learning_options import (
    Horizon,
    Presence,
    SchemeOption,
    Stakeholders,
    build_environment,
    environment_options,
)
from evenhand.cli.output import JsonOption, print_json, print_table, progress_bar

if TYPE_CHECKING:
    from evenhand.fairness.scheme import FairnessScheme
    from evenhand.planning import PriceTable
    from evenhand.problem.problem import Problem


def plan_command(
    environment: Annotated[
        str,
        typer.Argument(
            help="doughnuts, lending, jobs, …: see `evenhand list`; or one of your own."
        ),
    ],
    stakeholders: Stakeholders = None,
    horizon: Horizon = None,
    presence: Presence = None,
    discount: Annotated[
        float, typer.Option(help="The discount of the sum over time; counts are not discounted.")
    ] = 1.0,
    scheme: SchemeOption = None,
    save: Annotated[Path | None, typer.Option(help="Write the optimal policy to a file.")] = None,
    memories: Annotated[
        bool, typer.Option("--memories", help="Show what the best policy with each memory reaches.")
    ] = False,
    time_limit: Annotated[
        float,
        typer.Option(help="With --memories: how long to prove each; then bounds are shown.", min=0),
    ] = 10.0,
    chart: Annotated[
        Path | None, typer.Option(help="With --memories: write the chart to this HTML file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Plan the fairest possible policy exactly, and say how far acting at random is from it.

    Example: evenhand plan doughnuts --stakeholders 3 --horizon 12 --presence 0.8
    """
    started = time.perf_counter()
    _require_places(save, chart, memories)
    from evenhand.planning.evaluation import regret
    from evenhand.planning.planner import check_turn_taking, plan, save_plan

    problem, use_memory = _problem(environment, stakeholders, horizon, presence, discount, scheme)
    with progress_bar("planning", hidden=as_json) as progress:
        found = plan(problem, use_memory=use_memory, progress=progress)
    random = found.random_value()
    answer: dict[str, Any] = {
        "environment": environment,
        "scheme": problem.scheme.describe(),
        "horizon": problem.environment.horizon,
        "optimum": found.value,
        "random": random,
        "states": found.states,
    }
    turns = check_turn_taking(found)
    if turns is not None:
        answer["turn_taking"] = turns.to_json()
    if save is not None:
        save_plan(found, save)
        answer["saved"] = str(save)
    price = _price(problem, time_limit, chart) if memories else None
    if price is not None:
        answer["price_of_memory"] = price.to_json()["memories"]
    answer["seconds"] = round(time.perf_counter() - started, 3)
    if as_json:
        print_json(answer)
        return
    lost, _ = regret(random, found.value, random)
    rows = [
        ("optimum", f"{found.value:,.4f}"),
        ("acting at random", f"{random:,.4f}"),
        ("regret of acting at random", f"{lost:,.4f}"),
        ("states in the largest time layer", f"{answer['states']:,}"),
        ("seconds", f"{answer['seconds']:.1f}"),
    ]
    print_table(f"{environment}, {answer['horizon']} decisions", ("", "score"), rows)
    print(f"\n{problem.scheme.describe()}")
    if turns is not None:
        print(f"\n{turns.describe()}")
    if price is not None:
        print(f"\nThe best that a policy with each memory can reach:\n{price.table()}")
    if save is not None:
        print(f"\nThe optimal policy is in {save}.")


def _require_places(save: Path | None, chart: Path | None, memories: bool) -> None:
    """Refuse what cannot be written, before anything is planned."""
    from evenhand._util.files import require_place
    from evenhand.errors import BadParameter

    if chart is not None and not memories:
        raise BadParameter("--chart is of the price of memory: add --memories.")
    for path, given in ((save, "save"), (chart, "chart")):
        if path is not None:
            require_place(path, given)


def _price(problem: Problem, time_limit: float, chart: Path | None) -> PriceTable:
    """The price of memory, and its chart where one is asked for."""
    from evenhand._util.files import write_whole
    from evenhand.planning.memory_price import price_of_memory, standard_memories

    environment: Any = problem.environment
    price = price_of_memory(
        environment,
        problem.scheme,
        standard_memories(environment.num_stakeholders),
        time_limit,
        augment_with_score=problem.augment_with_score,
    )
    if chart is not None:
        write_whole(chart, price.chart().to_html(inline=True).encode())
    return price


def _problem(
    name: str,
    stakeholders: int | None,
    horizon: int | None,
    presence: str | None,
    discount: float,
    scheme_file: Path | None,
) -> tuple[Problem, bool]:
    """The problem that the options describe, and whether to plan on its memory."""
    from evenhand.memory.memory import Full
    from evenhand.problem.problem import Problem
    from evenhand.problem.reward import is_sum_of_rewards

    kind, options = environment_options(name, stakeholders, horizon, presence)
    environment = build_environment(kind, options)
    scheme = _scheme(environment, discount, scheme_file)
    memory = environment.planning_memory() if scheme_file is None else None
    if memory is not None:
        return Problem(environment, scheme, memory), True
    fold = not is_sum_of_rewards(scheme)
    return Problem(environment, scheme, Full(), augment_with_score=fold), False


def _scheme(environment: Any, discount: float, scheme_file: Path | None) -> FairnessScheme:
    from dataclasses import replace

    from evenhand.errors import BadParameter
    from evenhand.fairness.aggregation import TimepointFirst
    from evenhand.fairness.scheme import read_scheme_file
    from evenhand.fairness.temporal import Discounted, Total

    if scheme_file is not None:
        if discount != 1.0:
            raise BadParameter(
                "--discount is for the environment's own scheme: put it in the file."
            )
        return read_scheme_file(scheme_file)
    scheme = environment.default_scheme()
    temporal = Total() if discount == 1.0 else Discounted(discount)
    return replace(scheme, aggregation=TimepointFirst(scheme.welfare, temporal))
