"""What a pool is: its rule, how ties are broken, what its times are, and how it is judged."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.auditing.questions import question_of
from evenhand.decide.allocator import Allocator
from evenhand.decide.rules.named import rule_of, rule_to_table
from evenhand.decide.rules.rule import TIES, Rule
from evenhand.errors import BadParameter, argument
from evenhand.fairness.scheme_file import from_table
from evenhand.log.options import AuditOptions
from evenhand.serve.pools.policy_folder import NO_POLICIES, PolicyFolder, names_policy

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
# What of an audit's options a pool may say once and for all: how it is judged, and when to look.
JUDGED_BY = (
    *("each_event", "every", "after_each", "at_end", "welfare", "temporal", "lower_is_better"),
    *("newcomers", "unweighted", "tolerance", "max_unfairness", "min_score", "judge_requests"),
)


@dataclass(frozen=True)
class PoolDefinition:
    """A pool as somebody defines it.

    Args:
        name: What it is called: letters, digits, dots, dashes and underscores.
        rule: Who is next, by name, such as "least_served" or "half_life:7d", or as a table; or the
            file of a learned policy or a plan, such as "fair.policy".
        ties: How ties are broken: "order", or a table such as {"name": "draw", "seed": 1}.
        by_request: Whether only those are eligible who asked for more than they received. The
            default is what the rule needs.
        dates: Whether times are dates, and not plain numbers.
        audit: How the pool is judged: options of an audit such as {"every": "month"}.
        policies: Where such files are; no part of what a pool is.
    """

    name: str
    rule: Any = "least_served"
    ties: Any = "order"
    by_request: bool | None = None
    dates: bool = True
    audit: Mapping[str, Any] = field(default_factory=dict)
    policies: PolicyFolder = field(default=NO_POLICIES, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise BadParameter(
                f"a pool cannot be called {self.name!r}: use at most 64 letters, digits, dots, "
                "dashes and underscores, and begin with a letter or a digit."
            )
        if not isinstance(self.dates, bool):
            raise BadParameter(f"{argument('dates')} is {self.dates!r}: it must be true or false.")
        object.__setattr__(self, "audit", dict(self.audit))
        if names_policy(self.rule):  # from now on it is that file and no other
            object.__setattr__(self, "rule", self.policies.table(self.rule))
        asks = self.allocator().state.by_request and "judge_requests" in self.audit
        question_of(self.audit_options(**({"asked": "asked"} if asks else {})))

    def allocator(self) -> Allocator:
        """An allocator to which nothing has happened yet."""
        return Allocator(
            self._rule(),
            ties=from_table(self.ties, TIES, "ties"),
            by_request=self.by_request,
            dates=self.dates,
        )

    def _rule(self) -> Rule:
        if not isinstance(self.rule, str | Mapping):
            raise BadParameter(f"{argument('rule')} is {self.rule!r}: name a rule.")
        if names_policy(self.rule):
            return self.policies.rule(self.rule)
        rule: Any = self.rule if isinstance(self.rule, str) else dict(self.rule)
        return rule_of(rule)

    def audit_options(self, **others: Any) -> AuditOptions:
        """How an exported log of the pool is judged; `others` come on top."""
        for name in self.audit:
            if name not in JUDGED_BY:
                raise BadParameter(
                    f"{argument('audit')} says {name!r}: it may say {', '.join(JUDGED_BY)}."
                )
        given: dict[str, Any] = {"stakeholder": "stakeholder", "time": "time", "amount": "amount"}
        return AuditOptions(**(given | dict(self.audit) | others))

    def to_json(self) -> dict[str, Any]:
        """The definition as JSON has it."""
        table = {name: getattr(self, name) for name in _said()}
        if not names_policy(self.rule):
            table["rule"] = rule_to_table(self._rule())
        return table

    @staticmethod
    def from_json(table: Mapping[str, Any], policies: PolicyFolder = NO_POLICIES) -> PoolDefinition:
        """The definition that JSON or TOML says.

        Args:
            table: What it says.
            policies: Where the files of learned policies are.
        """
        known = _said()
        for name in table:
            if name not in known:
                raise BadParameter(f"a pool has no {name!r}: it has {', '.join(known)}.")
        if "name" not in table:
            raise BadParameter("a pool needs a name: say it in 'name'.")
        if not isinstance(table.get("audit", {}), Mapping):
            raise BadParameter(f"{argument('audit')} must be a table of options.")
        return PoolDefinition(**table, policies=policies)


def _said() -> list[str]:
    """What a pool says of itself."""
    names = [spec.name for spec in dataclasses.fields(PoolDefinition)]
    return [name for name in names if name != "policies"]
