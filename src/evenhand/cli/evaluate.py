"""`evenhand evaluate`: the score of what was trained, and how far it is from the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand._util.files import require_apart, require_place
from evenhand.cli.learning_options import Seed, at_most, require_at_most
from evenhand.cli.output import JsonOption, print_json, print_table
from evenhand.cli.train import evaluate_on_host, refuse_unused
from evenhand.errors import BadFile, BadParameter

if TYPE_CHECKING:
    from evenhand.lab.training import SavedScore

LOGGED = 100  # episodes of a log


def evaluate_command(
    file: Annotated[
        Path, typer.Argument(help="A policy or run that `evenhand train` or `compare` wrote.")
    ],
    episodes: Annotated[
        int,
        typer.Option(
            help="Greedy episodes that a score is the mean of (deep).",
            min=1,
            callback=at_most("--episodes"),
        ),
    ] = 1000,
    seed: Seed = 0,
    log: Annotated[
        Path | None,
        typer.Option(help="Write 100 greedy episodes to this Parquet log, for `evenhand audit`."),
    ] = None,
    stakeholders: Annotated[
        int | None,
        typer.Option(help="For how many it is to decide, if not for as many as it learned with."),
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(help="Over how many decisions, if not as many as it learned with.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score what was learned, and how far that is from the optimum.

    Example: evenhand evaluate fair.policy --stakeholders 50 --horizon 1000
    """
    from evenhand._util.saved import kind_of
    from evenhand.envs.own_environment import load_named
    from evenhand.lab.training import saved_environment, score_saved

    if kind_of(file) == "learner":
        refuse_unused({"--log": log, "--stakeholders": stakeholders, "--horizon": horizon})
        evaluate_on_host(file, episodes, seed, as_json)
        return
    load_named(saved_environment(file))
    for option, value in (("--stakeholders", stakeholders), ("--horizon", horizon)):
        require_at_most(option, value)
    if log is not None:
        if stakeholders is not None or horizon is not None:
            raise BadParameter(
                "--log writes episodes of those it learned with: leave --stakeholders and "
                "--horizon out, or leave out --log."
            )
        _write_log(file, log, seed)
    found = score_saved(file, seed, episodes, stakeholders, horizon)
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)


def _print(found: SavedScore) -> None:
    answer, best = found.to_json(), found.against.optimum
    columns = {"score": [f"{s:,.3f}" for s in found.scores]}
    if best is not None:
        columns["regret"] = [f"{lost:,.3f}" for lost in answer["regret"]]
        columns["share of the way"] = [f"{share:.1%}" for share in answer["share_of_the_way"]]
    if min(answer.get("achieved", (1.0,))) < 1.0:  # where there is a goal that can be missed
        columns["reached its goal"] = [f"{share:.1%}" for share in answer["achieved"]]
    names = [f"seed {name}" for name in found.spec.seeds]
    title = f"{found.spec.describe()}, after {found.steps:,} steps"
    print_table(title, ("", *columns), zip(names, *columns.values(), strict=True))
    known = "No exact optimum is known" if best is None else f"Optimum {best:,.3f}"
    print(f"\n{known}, acting at random {found.against.random:,.3f}. {_how(answer)}")
    warning = found.against.warning(found.scores)
    if warning is not None and "stakeholders" not in answer:  # then it is of another number
        print(warning)
    if "stakeholders" in answer:
        learned = found.spec.environment
        print(
            f"Learned with {learned.num_stakeholders:,} stakeholders over {learned.horizon:,} "
            f"decisions, it decides here for {answer['stakeholders']:,} over "
            f"{answer['horizon']:,}."
        )
    if answer.get("turn_taking") is not None:
        shares = ", ".join(f"{score / answer['turn_taking']:.1%}" for score in found.scores)
        print(f"Taking turns scores {answer['turn_taking']:,.3f} there: it reaches {shares} of it.")


def _how(answer: Mapping[str, Any]) -> str:
    """Where the scores come from, which is why they may differ from those of `train`."""
    if "episodes" not in answer:
        return "Scores are exact values of the greedy policy."
    return (
        f"Scores are means of {answer['episodes']:,} greedy episodes drawn anew: those that "
        "`evenhand train` printed were of others."
    )


def _write_log(file: Path, log: Path, seed: int) -> None:
    """Greedy episodes of the first policy in a file, as a log to be audited run by run."""
    from evenhand.lab.training import is_policy

    policy = is_policy(file)
    require_apart([log], [file])
    require_place(log, "log")
    if log.suffix != ".parquet":
        raise BadParameter(f"--log is {log}: it writes Parquet, so let the name end in .parquet.")
    if not policy:
        raise BadFile(
            f"{file} holds tables, of which no log is written: train with --deep for one, or score "
            "it without --log."
        )
    from evenhand.interop.logs import policy_traces, write_log
    from evenhand.learn.policy_files import load_policies

    write_log(log, policy_traces(load_policies(file).policy(), LOGGED, seed))
