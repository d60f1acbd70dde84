"""What is sent and what is answered, as the OpenAPI page shows it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag

from evenhand.errors import BadParameter
from evenhand.serve.pools.files import PolicyFolder
from evenhand.serve.pools.pool import PoolDefinition

MOST = 10_000
Amount = Annotated[float, Field(gt=0, le=1e15, allow_inf_nan=False)]
# A name is data: any text of one line.
VISIBLE = r"^[^\x00-\x1f\x7f]+$"
POOL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=VISIBLE)]
At = Annotated[
    float | str | None,
    Field(
        description="When: an ISO date, or a plain number if the pool counts so; now by default."
    ),
]
Remark = Annotated[str, StringConstraints(max_length=2000)]


class Sent(BaseModel):
    """A body; a field that it does not have is refused, as it is probably a slip."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class ShareSent(Sent):
    name: Name
    amount: Amount = 1.0


class DecisionSent(Sent):
    """Take the decision of the rule; or, with `shares` and a `reason`, another."""

    amount: Amount = Field(1.0, description="How much each lot is; a rule that divides shares it.")
    count: int = Field(1, ge=1, le=MOST, description="How many lots there are.")
    distinct: bool = Field(False, description="Whether nobody is to get two of them.")
    among: list[Name] | None = Field(
        None, min_length=1, max_length=MOST, description="Who could take it, if not all eligible."
    )
    without: list[Name] = Field([], max_length=MOST, description="Who could not.")
    at: At = None
    turn: str | None = Field(
        None, description="The turn that was asked for; refused with 409 if it is over."
    )
    shares: list[ShareSent] | None = Field(
        None,
        min_length=1,
        max_length=MOST,
        description="Who is given how much, if others.",
    )
    reason: Remark | None = Field(None, description="Why it is not the rule's; or a remark.")


class UndoSent(Sent):
    reason: Remark | None = None


class HappeningSent(Sent):
    """Somebody joins, leaves, pauses, resumes, asks for more, or is entitled to another amount."""

    event: Literal["join", "leave", "pause", "resume", "entitle", "ask"]
    name: Name
    at: At = None
    entitlement: Amount | None = Field(None, description="Of join and entitle; 1 by default.")
    amount: Amount | None = Field(None, description="Of ask: how much more; 1 by default.")


class StakeholderSent(Sent):
    name: Name
    entitlement: Amount = 1.0


# Told apart before they are looked at, so that only the mistakes of what was meant are named.
WITH_ENTITLEMENT, NAME_ALONE = "(with entitlement)", "(name alone)"
Somebody = Annotated[
    Annotated[StakeholderSent, Tag(WITH_ENTITLEMENT)] | Annotated[Name, Tag(NAME_ALONE)],
    Discriminator(lambda sent: NAME_ALONE if isinstance(sent, str) else WITH_ENTITLEMENT),
]


class PoolSent(Sent):
    name: Annotated[str, StringConstraints(pattern=POOL_NAME)]
    rule: str | dict[str, Any] = Field(
        "least_served", description="A rule by name, such as half_life:7d, or as a table."
    )
    ties: str | dict[str, Any] = Field("order", description='Such as {"name": "draw", "seed": 1}.')
    by_request: bool | None = Field(
        None, description="Whether only those are eligible who asked for more than they received."
    )
    dates: bool = Field(True, description="Whether times are dates, and not plain numbers.")
    audit: dict[str, Any] = Field({}, description='How it is judged, such as {"every": "month"}.')
    stakeholders: list[Somebody] = Field(
        [], max_length=100_000, description="Names, or names with an entitlement."
    )

    def people(self) -> list[tuple[str, float]]:
        """The names and what each is entitled to; refused if somebody is named twice."""
        found = [
            (one, 1.0) if isinstance(one, str) else (one.name, one.entitlement)
            for one in self.stakeholders
        ]
        if len(dict(found)) < len(found):
            raise BadParameter("'stakeholders' names somebody twice: name everybody once.")
        return found

    def definition(self, policies: PolicyFolder) -> PoolDefinition:
        """What the pool is; a learned policy is a file to be read."""
        return PoolDefinition.from_json(self.model_dump(exclude={"stakeholders"}), policies)


class TokenSent(Sent):
    name: Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=VISIBLE)]
    role: Literal["reader", "decider", "owner"]


# What is answered.


class ProblemShown(BaseModel):
    """RFC 9457: what is wrong, and how to fix it."""

    type: str
    title: str
    status: int
    detail: str
    error: str | None = None


class PoolShown(BaseModel):
    name: str
    rule: str
    definition: dict[str, Any]
    stakeholders: int
    eligible: int
    decisions: int
    entries: int
    turn: str
    digest: str


class UnreadableShown(BaseModel):
    name: str
    reason: str


class PoolsShown(BaseModel):
    pools: list[PoolShown]
    unreadable: list[UnreadableShown]


class ShareShown(BaseModel):
    name: str
    amount: float
    reason: str


class NextShown(BaseModel):
    """Who is next. `turn` is what to take the decision with."""

    pool: str
    turn: str
    at: float | str | None
    shares: list[ShareShown]
    runner_up: ShareShown | None
    rule: str


class DecisionShown(BaseModel):
    pool: str
    number: int
    recorded: str
    actor: str
    at: float | str | None
    shares: list[ShareShown]
    by_rule: bool | None  # None: it was imported, and no rule was asked
    proposed: list[dict[str, Any]] | None
    reason: str | None
    among: list[str] | None
    runner_up: dict[str, Any] | None
    undone: bool
    turn: str | None = None


class DecisionsShown(BaseModel):
    decisions: list[DecisionShown]
    cursor: int | None = Field(description="Where the next page begins; null on the last one.")


class EntryShown(BaseModel):
    number: int
    recorded: str
    actor: str
    digest: str
    body: dict[str, Any]
    turn: str | None = None


class EntriesShown(BaseModel):
    entries: list[EntryShown]
    cursor: int | None


class StakeholderShown(BaseModel):
    name: str
    rank: int | None
    level: float | None
    reason: str
    received: float
    asked: float
    entitlement: float
    there: bool
    paused: bool


class StateShown(BaseModel):
    pool: str
    turn: str
    eligible: int
    stakeholders: list[StakeholderShown]
    cursor: int | None


class WhyShown(BaseModel):
    pool: str
    name: str
    sentence: str
    rank: int | None
    eligible: int
    standing: StakeholderShown
    next: StakeholderShown | None
    turns_until: int | None = Field(
        description="How many turns come before; null if it is not eligible, if there are more "
        "than 1,000, or if the rule does not plan ahead."
    )
    what_would_differ: str


class DecisionWhyShown(BaseModel):
    decision: DecisionShown
    why: WhyShown


class ForecastShown(BaseModel):
    pool: str
    name: str
    turns_until: int | None
    expected: str | None
    earliest: str | None
    latest: str | None
    assumptions: list[str]
    sentence: str


class AlarmsShown(BaseModel):
    """Alarms as `evenhand audit --alarm` raises them."""

    model_config = ConfigDict(extra="allow")

    pool: str
    alpha: float
    evidence: float
    raised: list[dict[str, Any]]
    sentence: str
    notes: list[str] = Field(description="What the watch does not know of.")


class CourseShown(BaseModel):
    name: str
    received: list[float]


class OverTimeShown(BaseModel):
    pool: str
    times: list[float | str]
    mean: list[float]
    stakeholders: list[CourseShown]


class ImportShown(BaseModel):
    pool: str
    decisions: int
    stakeholders: int
    turn: str
    notes: list[str]  # what is odd about the log, but not an error


class TokenShown(BaseModel):
    name: str
    role: str
    created: str
    secret: str | None = None


class TokensShown(BaseModel):
    tokens: list[TokenShown]
