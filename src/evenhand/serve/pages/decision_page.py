"""Why a decision was as it was, with what was known then; and why it was nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from evenhand._util.wording import as_beginning
from evenhand.errors import EvenhandError
from evenhand.report.html.element import Markup, element, joined, labelled_list, name_of
from evenhand.serve.api.tokens import Role
from evenhand.serve.pages.entry_words import moment_shown, shares_shown
from evenhand.serve.pages.forms import button, field, folded, once, somebody, somebody_in
from evenhand.serve.pages.page_frame import NOTHING_WRONG, Complaint
from evenhand.serve.pages.pool_frame import pool_frame
from evenhand.serve.pages.signed_in import Visit, complaint, see
from evenhand.serve.pools.live_pool import LivePool


async def decision_page(
    visit: Visit, pool: str, number: int, wrong: Complaint = NOTHING_WRONG
) -> Response:
    """The page of one decision."""
    live = await visit.live(pool)
    taken = await visit.service.decision(pool, number)
    why, other, no_other = await _why(visit, live, number)
    if no_other.sentence:
        wrong = no_other
    content = (
        element("h1", None, f"Why decision {number}: ", shares_shown(taken["shares"]), "?"),
        _undone(taken),
        _why_shown(taken, why),
        labelled_list(_facts(taken)),
        _why_not(live, number, other, wrong),
        _undo(visit, live, taken, wrong) if visit.may(Role.DECIDER) else None,
    )
    return pool_frame(visit, pool, None, f"Decision {number}").around(content, status=wrong.status)


async def _why(visit: Visit, live: LivePool, number: int) -> tuple[Any, Any, Complaint]:
    """Why it was so, and why somebody who was asked about was not chosen."""
    try:
        found = await visit.service.why_then(live.name, number)
    except EvenhandError as error:  # it lies too far back, say
        return str(error), None, NOTHING_WRONG
    chosen = {k: v for k, v in visit.request.query_params.items() if k in ("place", "name")}
    if not any(chosen.values()):
        return found["why"], None, NOTHING_WRONG
    try:
        who = somebody_in(live, chosen)
        other = await visit.service.why_then(live.name, number, who)
    except EvenhandError as error:
        return found["why"], None, complaint("why-not", error, {})
    return found["why"], other["why"], NOTHING_WRONG


def _undone(taken: Mapping[str, Any]) -> Markup | None:
    if not taken["undone"]:
        return None
    return element("p", {"class": "done"}, "This decision was undone: it does not count.")


def _why_shown(taken: Mapping[str, Any], why: Any) -> Markup:
    if isinstance(why, str):
        return element("p", {"class": "because"}, as_beginning(why))
    if not taken["shares"][0]["reason"]:  # nobody asked the rule
        return joined(
            (
                element("p", {"class": "because"}, "This is from a log that was imported."),
                element("p", None, "The rule of this pool would have said: ", why["sentence"]),
            )
        )
    if taken["by_rule"]:
        return element("p", {"class": "because"}, why["sentence"], " ", why["what_would_differ"])
    rule = shares_shown(taken["proposed"]) if taken["proposed"] else "nobody"
    return joined(
        (
            element(
                "p", {"class": "because"}, "The rule proposed ", rule, ". It was decided otherwise:"
            ),
            element("blockquote", {"dir": "auto"}, taken["reason"]) if taken["reason"] else None,
            element("p", None, "By the rule: ", why["sentence"]),
        )
    )


def _facts(taken: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    facts: list[tuple[Any, Any]] = [
        ("Noted", joined((moment_shown(taken["recorded"]), " UTC"))),
        ("By", element("bdi", None, taken["actor"])),
    ]
    if str(taken["at"])[:16] != taken["recorded"][:16]:  # it was for another moment
        facts.insert(0, ("When", moment_shown(taken["at"])))
    if len(taken["shares"]) == 1 and taken["shares"][0]["reason"]:
        facts.insert(0, ("What the rule knew", taken["shares"][0]["reason"]))
    if taken["runner_up"] is not None:
        one = taken["runner_up"]
        facts.append(("Next otherwise", joined((name_of(one["name"]), f": {one['reason']}"))))
    if taken["by_rule"] and taken["reason"]:
        facts.append(("Remark", element("q", {"dir": "auto"}, taken["reason"])))
    return facts


def _why_not(live: LivePool, number: int, other: Any, wrong: Complaint) -> Markup:
    result = None
    if other is not None:
        result = element(
            "p",
            {"class": "result", "role": "status"},
            other["sentence"],
            " ",
            other["what_would_differ"],
        )
    form = element(
        "form",
        {"method": "get", "action": f"/pools/{live.name}/decisions/{number}", "class": "row"},
        somebody(live, "Why not", {}),
        button("Ask"),
    )
    return element(
        "section",
        {"aria-labelledby": "why-not-title"},
        element("h2", {"id": "why-not-title"}, "Why not somebody else?"),
        wrong.at("why-not"),
        result,
        form,
    )


def _undo(
    visit: Visit, live: LivePool, taken: Mapping[str, Any], wrong: Complaint
) -> Markup | None:
    if taken["undone"]:
        return wrong.at("undo")
    form = visit.form(
        f"/pools/{live.name}/decisions/{taken['number']}/undo",
        once(),
        wrong.at("undo"),
        element("p", None, "It stays in the log, marked, and counts as not taken."),
        field("The reason", "reason", wrong.typed_at("undo", "reason"), maxlength=2000, dir="auto"),
        button("Undo it"),
    )
    return folded("Undo this decision", form, is_open=wrong.form == "undo")


async def undo(visit: Visit, pool: str, number: int) -> Response:
    """Let a decision count as not taken."""
    fields = await visit.sent()
    try:
        reason = fields.get("reason", "").strip()[:2000]
        await visit.service.undo(pool, await visit.asks(fields), number, reason or None)
    except EvenhandError as error:
        return await decision_page(visit, pool, number, complaint("undo", error, fields))
    return see(f"/pools/{pool}?done={(await visit.live(pool)).number}")
