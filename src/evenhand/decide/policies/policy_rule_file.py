"""A rule as the command line names it: by its name, or by the file of a policy or a plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand._util.saved import kind_of
from evenhand.decide.rules.named_rule import RULES, rule_of
from evenhand.decide.rules.rule import Rule
from evenhand.errors import BadFile, argument


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
    from evenhand.decide.policies import policy_choices
    from evenhand.decide.policies.policy_rule import PolicyRule

    if kind == "plan":
        from evenhand.planning.planner import load_plan

        planned = policy_choices.PlannedChoices(load_plan(path))
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
    learned = policy_choices.LearnedChoices(saved.policy(_best_seed(saved.header)))
    return PolicyRule(learned, Path(path).name)


def _best_seed(header: Mapping[str, Any]) -> int:
    """The place of the seed that scored most in the last evaluation; the first of several."""
    try:
        last = [float(score) for score in header["measures"]["score"][-1]]
        return last.index(max(last))
    except (KeyError, IndexError, TypeError, ValueError):  # saved from Python without scores
        return 0
