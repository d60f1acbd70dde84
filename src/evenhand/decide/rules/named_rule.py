"""Rules by their names, as the command line and files write them: least_served, half_life:7d."""

from __future__ import annotations

from typing import Any

# Each registers its rules.
from evenhand.decide.rules.rule import RULES, Rule
from evenhand.errors import BadParameter, MissingPartParameter
from evenhand.fairness.scheme_file import from_table, to_table


def rule_of(rule: Rule | str | dict[str, Any]) -> Rule:
    """A rule, from its name, with what it needs to know after a colon; or from a table.

    >>> rule_of("half_life:7d").describe()
    'whoever has received least lately: amounts count half after 7 days'
    """
    if isinstance(rule, Rule):
        return rule
    table: Any = rule
    if isinstance(rule, str):
        name, colon, value = rule.partition(":")
        cls: Any = RULES.get(name.strip().replace("-", "_"))
        table = {"name": name.strip().replace("-", "_")}
        if colon and cls.parameter is None:
            raise BadParameter(f"the rule {name} takes nothing after a colon, as in {rule!r}.")
        if colon:
            table[cls.parameter] = value.strip()
    try:
        found: Rule = from_table(table, RULES, "rule")
    except MissingPartParameter as error:
        raise BadParameter(
            f"the rule {error.part} needs a number or a time after a colon, such as "
            f"{error.part}:{EXAMPLES.get(error.part, '10')}."
        ) from None
    return found


__all__ = ["RULES", "rule_of", "rule_to_name", "rule_to_table"]

EXAMPLES = {"half_life": "7d"}


def rule_to_table(rule: Rule) -> Any:
    """A registered rule as JSON has it."""
    return to_table(rule, RULES)


def rule_to_name(rule: Rule) -> str:
    """A rule as the command line writes it; one that is not registered, by its class.

    >>> rule_to_name(rule_of("half_life:7d"))
    'half_life:7d'
    """
    name = RULES.name_of(rule) or type(rule).__name__
    value = None if rule.parameter is None else getattr(rule, rule.parameter)
    return name if value in (None, 0) else f"{name}:{value}"
