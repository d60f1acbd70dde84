"""Rules by the names people type, and rules that are files of policies."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand._util.saved import kind_of
from evenhand.decide.rules import built_in, deadline  # noqa: F401
from evenhand.decide.rules.rule import RULES, Rule
from evenhand.errors import BadFile, BadParameter, MissingPartParameter, argument
from evenhand.fairness.scheme_file import from_table, to_table

# Rules by their names, as the command line and files write them: least_served, half_life:7d.

# Each registers its rules.


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


# A rule as the command line names it: by its name, or by the file of a policy or a plan.


def rule_or_policy(named: Rule | str) -> Rule:
    """A rule, from its name; or the policy or plan of a file as a rule.

    Only for names from whoever may read the files here: a service takes names alone.

    Args:
        named: Such as "least_served", "half_life:7d", "fair.policy" or "fair.plan".
    """
    if not isinstance(named, str) or not is_policy_file(named):
        return rule_of(named)
    return policy_rule(named)


def is_policy_file(name: str) -> bool:
    """Whether a name is that of a file, and not of a rule."""
    if name.partition(":")[0].strip().replace("-", "_") in RULES.classes:
        return False
    return Path(name).suffix in (".policy", ".plan", ".npolicy") or os.path.isfile(name)


def policy_rule(path: str | os.PathLike[str]) -> Rule:
    """The policy of a file that `evenhand train --out` or `evenhand plan --save` wrote, as a rule.

    Of policies learned with several seeds the one decides that scored most where it was learned.

    Args:
        path: The file.
    """
    kind = kind_of(path)
    # Only here: a replay by rules alone does without jax.
    from evenhand.decide import policies
    from evenhand.decide.policies import PolicyRule

    if kind == "plan":
        from evenhand.planning.planner import load_plan

        planned = policies.PlannedChoices(load_plan(path))
        return PolicyRule(planned, Path(path).name)
    if kind == "numpy policy":
        raise BadFile(
            f"{path} is a policy exported for NumPy, which does not say what its choices are: give "
            "the file that it was exported from."
        )
    if kind == "run":
        raise BadFile(
            f"{path} holds what was learned in tables, which decide only in the environment that "
            f"they were learned in: for a log or a pool train a network ({argument('deep')}), or "
            "give the file of an exact plan, which `evenhand plan` and `save_plan` write."
        )
    from evenhand.learn.policy_files import load_policies

    saved = load_policies(path)
    learned = policies.LearnedChoices(saved.policy(_best_seed(saved.header)))
    return PolicyRule(learned, Path(path).name)


def _best_seed(header: Mapping[str, Any]) -> int:
    """The place of the seed that scored most in the last evaluation; the first of several."""
    try:
        last = [float(score) for score in header["measures"]["score"][-1]]
        return last.index(max(last))
    except (KeyError, IndexError, TypeError, ValueError):  # saved from Python without scores
        return 0
