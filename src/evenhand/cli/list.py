"""`evenhand list`: what there is to choose from."""

from __future__ import annotations

from evenhand.cli.output import JsonOption, print_json, print_table


def list_command(as_json: JsonOption = False) -> None:
    """Show environments, methods, memories, parts of a scheme and rules by name, with a line each.

    Example: evenhand list --json
    """
    from evenhand.decide.rules.named_rule import RULES
    from evenhand.envs import ENVIRONMENTS, METHODS
    from evenhand.experiments.recipes.deep_recipes import DEEP_METHOD_LINES
    from evenhand.fairness.aggregation import AGGREGATIONS
    from evenhand.fairness.filters import FILTERS
    from evenhand.fairness.status import STATUSES
    from evenhand.fairness.temporal import TEMPORALS
    from evenhand.fairness.welfare import WELFARES
    from evenhand.learn.proposals import PROPOSALS
    from evenhand.memory.memory import MEMORIES

    kinds = {
        registry.kind: registry.lines()
        for registry in (
            *(ENVIRONMENTS, METHODS, MEMORIES, PROPOSALS),
            *(STATUSES, WELFARES, TEMPORALS, AGGREGATIONS, FILTERS, RULES),
        )
    }
    kinds[METHODS.kind] = DEEP_METHOD_LINES | kinds[METHODS.kind]
    if as_json:
        print_json(kinds)
        return
    for kind, lines in kinds.items():
        print_table(kind, ("name", "what it is"), lines.items(), numbers=False)
        print()
