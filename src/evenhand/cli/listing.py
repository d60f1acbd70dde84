"""`evenhand list`: what there is to choose from."""

from __future__ import annotations

from evenhand.cli.output import JsonOption, print_json, print_table


def list_parts(as_json: JsonOption = False) -> None:
    """Show every status, welfare, temporal aggregation and filter by name, with a line each.

    Example: evenhand list --json
    """
    from evenhand.registry import AGGREGATIONS, FILTERS, STATUSES, TEMPORALS, WELFARES

    registries = (STATUSES, WELFARES, TEMPORALS, AGGREGATIONS, FILTERS)
    if as_json:
        print_json({registry.kind: registry.lines() for registry in registries})
        return
    for registry in registries:
        print_table(registry.kind, ("name", "what it is"), registry.lines().items(), numbers=False)
        print()
