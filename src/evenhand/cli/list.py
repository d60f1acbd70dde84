"""`evenhand list`: what there is to choose from."""

from __future__ import annotations

from evenhand.cli.output import JsonOption, print_json, print_table
from evenhand.errors import MissingExtra

Lines = dict[str, dict[str, str]]


def list_command(as_json: JsonOption = False) -> None:
    """Show environments, methods, memories, parts of a scheme and rules by name, with a line each.

    Example: evenhand list --json
    """
    left_out = ""
    try:
        kinds = _of_learning()
    except MissingExtra as missing:
        kinds, left_out = {}, str(missing)
    kinds |= _of_judging()
    if as_json:
        print_json(kinds)
        return
    for kind, lines in kinds.items():
        print_table(kind, ("name", "what it is"), lines.items(), numbers=False)
        print()
    if left_out:
        print(f"Environments, methods and proposals are not shown: {left_out}")


def _of_learning() -> Lines:
    """What to plan and learn with."""
    from evenhand.envs import ENVIRONMENTS, METHODS
    from evenhand.lab.recipes import DEEP_METHOD_LINES
    from evenhand.learn.imagined_memories import PROPOSALS

    methods = DEEP_METHOD_LINES | METHODS.lines()
    return {
        ENVIRONMENTS.kind: ENVIRONMENTS.lines(),
        METHODS.kind: methods,
        PROPOSALS.kind: PROPOSALS.lines(),
    }


def _of_judging() -> Lines:
    """Memories, the parts of a scheme, and rules."""
    from evenhand.decide.rules.named import RULES
    from evenhand.fairness.aggregation import AGGREGATIONS
    from evenhand.fairness.filters import FILTERS
    from evenhand.fairness.status import STATUSES
    from evenhand.fairness.temporal import TEMPORALS
    from evenhand.fairness.welfare import WELFARES
    from evenhand.memory.memory import MEMORIES

    registries = (MEMORIES, STATUSES, WELFARES, TEMPORALS, AGGREGATIONS, FILTERS, RULES)
    return {registry.kind: registry.lines() for registry in registries}
