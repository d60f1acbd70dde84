"""Deciding live: a fold over events, a snapshot of it, and reasons."""

from __future__ import annotations

import datetime
import inspect
import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evenhand.decide.allocator import Allocator, AllocatorCopy, Share
from evenhand.decide.rules.rule import RULES, ByDraw
from evenhand.errors import BadFile, BadParameter, EvenhandError
from evenhand.events import Give, Join, MemberEvent, Undo

WRITTEN = {"half_life": "half_life:5", "deadline": "deadline:4"}
NAMES = ("A", "B", "C", "D")
# What a day may bring: (what, to whom, how much).
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["decide", "decide", "ask", "give", "pause", "resume", "entitle", "among"]),
        st.sampled_from(NAMES),
        st.sampled_from([1.0, 2.0, 0.5]),
    ),
    max_size=20,
)


def made(rule, steps):
    """An allocator after some steps, and the events that made it."""
    allocator = Allocator(WRITTEN.get(rule, rule), ties=ByDraw(5))
    events = [allocator.join(name, entitlement=k + 1.0) for k, name in enumerate(NAMES)]
    for what, name, amount in steps:
        if what == "decide":
            shares = allocator.propose(amount)
            events += [allocator.give(share.name, share.amount) for share in shares]
        elif what == "among":
            share = allocator.next(amount, among=("A", "D"))
            if share is not None:
                events.append(allocator.give(share.name, share.amount, among=("A", "D")))
        elif what in ("ask", "give"):
            events.append(getattr(allocator, what)(name, amount))
        elif what == "entitle":
            events.append(allocator.entitle(name, amount))
        else:
            events.append(getattr(allocator, what)(name))
    return allocator, events


@pytest.mark.parametrize("rule", list(RULES.classes))
@given(steps=STEPS)
def test_the_state_is_a_fold_over_its_events(rule, steps):
    """Made again from the log as JSON, without being asked on the way; and from a snapshot."""
    allocator, events = made(rule, steps)
    lines = json.loads(json.dumps([event.to_json() for event in events]))
    again = Allocator(WRITTEN.get(rule, rule), ties=ByDraw(5))
    for line in lines:
        again.apply(MemberEvent.from_json(line))
    assert again.snapshot() == allocator.snapshot()
    restored = Allocator.restore(json.loads(json.dumps(allocator.snapshot())))
    assert restored.snapshot() == allocator.snapshot()
    assert restored.propose(1.0, count=5) == allocator.propose(1.0, count=5)
    assert restored.ranking() == allocator.ranking()


@pytest.mark.parametrize("rule", list(RULES.classes))
@given(steps=STEPS)
def test_the_ranking_begins_with_whoever_is_next(rule, steps):
    allocator, _ = made(rule, steps)
    ranked = [one for one in allocator.ranking() if one.rank is not None]
    if RULES.classes[rule].divides or allocator.state.by_request:
        return
    share = allocator.next()
    assert (share.name if share else None) == (ranked[0].name if ranked else None)
    for one in ranked:
        assert one.reason in allocator.why(one.name)


def test_several_at_once_are_as_one_after_the_other():
    allocator = Allocator("least_served")
    for name in NAMES:
        allocator.join(name)
    allocator.give("A", 3)
    proposed = [share.name for share in allocator.propose(count=5)]
    assert proposed == ["B", "C", "D", "B", "C"]
    assert [share.name for share in allocator.propose(count=3, distinct=True)] == ["B", "C", "D"]
    assert [allocator.decide()[0].name for _ in range(5)] == proposed


def test_distinct_ones_even_where_somebody_is_far_behind():
    allocator = Allocator("least_served")
    for name in NAMES:
        allocator.join(name)
    for name in "ABC":
        allocator.give(name, 9)
    assert [share.name for share in allocator.propose(count=2)] == ["D", "D"]
    assert [share.name for share in allocator.propose(count=2, distinct=True)] == ["D", "A"]


def test_reasons():
    allocator = Allocator("half_life:1d", dates=True)
    allocator.join("A", "2021-03-01")
    allocator.join("B", "2021-03-01", entitlement=2)
    allocator.give("A", 8, "2021-03-01T12:00")
    assert allocator.why("A", "2021-03-02T12:00") == (
        "A is second of 2: it has 4 left of what it received, which halves every 1 day. B is "
        "next: it has 0 left of what it received, which halves every 1 day: 0 per unit of its "
        "entitlement."
    )
    allocator.pause("A", "2021-03-03")
    assert allocator.why("A") == "A is not eligible: it is paused."
    allocator.leave("A", "2021-03-03")
    assert allocator.why("A") == "A has left."


@pytest.mark.parametrize(
    ("do", "said"),
    [
        (lambda a: a.give("X"), "no stakeholder 'X'"),
        *(
            (lambda a, name=name: a.join(name), f"^`name` is {shown}: it must be a text of one l")
            for name, shown in [
                *((3, "3"), (None, "None"), ("", "''"), (" ", "' '"), (["A"], r"\['A'\]")),
                *(("A\nB", r"'A\\nB'"), ("\x1b[31m", r"'\\x1b\[31m'")),
            ]
        ),
        (lambda a: a.apply(Join(3)), "^`name` is 3: it must be a text that is not empty"),
        (lambda a: a.give(3), "^`name` is 3: it must be a text"),
        *(
            (lambda a, count=count: a.propose(count=count), f"^`count` is {count!r}: .* from 1")
            for count in (-1, 0, 1.5, "2", True)
        ),
        (lambda a: a.decide(count=-1), "^`count` is -1: it must be a whole number from 1"),
        (lambda a: a.give("A", -1), "above 0"),
        (lambda a: a.give("A", float("nan")), "above 0"),
        (lambda a: a.give("A", True), "above 0"),
        (lambda a: a.join("A"), "joined before"),
        (lambda a: a.entitle("A", 0), "`entitlement` is 0"),
        (lambda a: a.give("A", at=-1), "events come in order of time"),
        (lambda a: a.give("A", at="2021-01-01"), "plain numbers"),
        (lambda a: a.next(among=("A", "Y")), "no stakeholder 'Y'"),
        (lambda a: MemberEvent.from_json({"event": "gift", "name": "A"}), "no event called"),
        (lambda a: MemberEvent.from_json({"name": "A"}), "what happened"),
        (lambda a: MemberEvent.from_json({"event": "give"}), "'name'"),
        (lambda a: MemberEvent.from_json({"event": "give", "x": 1}), "has no 'x'"),
        (lambda a: Allocator("first_come", by_request=False), "needs requests"),
        (lambda a: Allocator("lottery", ties="draw"), "^`ties` is 'draw': .* such as ByDraw"),
        (
            lambda a: Allocator("lottery", ties=ByDraw),
            "^`ties` is the class ByDraw: make",
        ),
        *(
            (lambda a, most=most: a.ranking(most=most), f"^`most` is {most!r}: .* number from 0")
            for most in ("x", -1, 1.5, True)
        ),
        (lambda a: Allocator("least_served", dates=True).join("A", "soon"), "must be a date"),
    ],
)
def test_what_cannot_have_happened_is_refused_and_changes_nothing(do, said):
    allocator = Allocator("least_served")
    allocator.join("A")
    before = allocator.snapshot()
    with pytest.raises(EvenhandError, match=said):
        do(allocator)
    assert allocator.snapshot() == before


def test_anybody_there_may_be_given_something_whatever_the_rule_says():
    allocator = Allocator("least_served", by_request=True)
    for name in "ABC":
        allocator.join(name)
    allocator.ask("A")
    allocator.pause("C")
    assert allocator.next().name == "A"
    for name in "BC":  # who has not asked, who is paused, and neither is among those who could
        allocator.give(name, 2, among=("A",))
    assert [one["received"] for one in allocator.snapshot()["stakeholders"]] == [0, 2, 2]


def test_a_name_may_be_in_any_script():
    allocator = Allocator("least_served")
    for name in ("Zoë", "مريم", "李 明", "\u200fשרה"):
        allocator.join(name)
    assert allocator.decide(count=np.int64(2))[0].name == "Zoë"


def test_every_public_method_says_what_it_takes():
    for name, method in vars(Allocator).items():
        assert name.startswith("_") or method.__doc__, name
    for name in ("join", "leave", "pause", "resume", "entitle", "ask", "give", "next", "propose"):
        method = getattr(Allocator, name)
        for argument in list(inspect.signature(method).parameters)[1:]:
            assert f"\n            {argument}: " in method.__doc__, (name, argument)


def test_who_has_left_stays_out():
    allocator = Allocator("least_served")
    allocator.join("A")
    allocator.leave("A")
    assert allocator.next() is None
    with pytest.raises(EvenhandError, match="has left"):
        allocator.give("A")


@pytest.mark.parametrize("table", [{}, {"format": "other"}, {"format": "evenhand allocator 1"}])
def test_what_is_not_a_snapshot_is_refused(table):
    with pytest.raises(BadFile, match="not a snapshot"):
        Allocator.restore(table)


@pytest.mark.parametrize("rule", ["least_served", "round_robin", "lottery:5", "half_life:3"])
@pytest.mark.parametrize("among", [None, ("B", "D", "E")])
def test_where_one_stands_is_where_the_ranking_has_it(rule, among):
    """Also beside those who paused, left, and were passed over while others were chosen."""
    allocator = Allocator(rule, ties=ByDraw(2))
    for name in "ABCDEFG":
        allocator.join(name)
    for turn in range(20):
        allocator.decide(among=("A", "C", "E", "F")[turn % 3 :])
    allocator.pause("C")
    allocator.leave("F")
    ranking = {one.name: one for one in allocator.ranking(among=among)}
    first = next(iter(ranking.values()))
    eligible = sum(one.rank is not None for one in ranking.values())
    before = allocator.snapshot()
    for name in "ABCDEG":
        own, found, count = allocator.standing(name, among=among)
        assert (own, found, count) == (ranking[name], first, eligible)
    assert allocator.standing("F")[0].reason == "has left"
    assert allocator.snapshot() == before
    for most in (1, 3, 99):
        assert allocator.ranking(among=among, most=most) == list(ranking.values())[:most]


@pytest.mark.parametrize("rule", list(RULES.classes))
@given(steps=STEPS, later=STEPS)
@example(steps=[("ask", "A", 1.0)], later=[("ask", "A", 1.0)])
def test_a_copy_stays_as_it_was_taken_whatever_happens_later(rule, steps, later):
    """What is written of it is worked out later, beside those who decide."""
    allocator, _ = made(rule, steps)
    then = list(AllocatorCopy.of(allocator).people())
    copy = AllocatorCopy.of(allocator)
    for what, name, amount in later:
        if what in ("ask", "give", "entitle"):
            getattr(allocator, what)(name, amount)
    assert list(copy.people()) == then


def test_the_first_moment_may_be_below_zero():
    allocator = Allocator("longest_wait")
    allocator.join("A", at=-5)
    allocator.join("B", at=-2.5)
    assert allocator.next(at=-1).reason == "has waited 4"
    with pytest.raises(EvenhandError, match="before what happened last"):
        allocator.give("A", at=-3)
    with pytest.raises(EvenhandError, match="plain numbers"):
        Allocator("least_served").join("A", at="2021-01-01")


@pytest.mark.parametrize("rule", ["least_served", "first_come", "longest_wait"])
def test_what_is_given_unasked_leaves_later_requests_as_they_are(rule):
    allocator = Allocator(rule, by_request=True)
    allocator.join("A")
    allocator.give("A", 5)
    assert allocator.next() is None
    allocator.ask("A", 1)
    assert allocator.next().name == "A"
    assert allocator.next(2.0) is None
    allocator.give("A", 1)
    assert allocator.next() is None


def test_a_request_that_is_met_in_many_small_parts_is_met():
    allocator = Allocator("first_come")
    for name in "AB":
        allocator.join(name)
        allocator.ask(name, 100)
    for _ in range(1000):
        allocator.give("A", 0.1)
    assert allocator.next(0.1).name == "B"
    assert allocator.ranking()[1].reason == "has asked for no more than it has received"


def test_of_those_who_ask_between_two_decisions_the_first_waits_longest():
    allocator = Allocator("longest_wait", by_request=True)
    for name in "ABC":
        allocator.join(name, at=0)
    for name, at in (("B", 1), ("C", 2), ("A", 2)):
        allocator.ask(name, 2, at=at)
    assert [share.name for share in allocator.propose(count=3, at=3)] == ["B", "A", "C"]
    restored = Allocator.restore(json.loads(json.dumps(allocator.snapshot())))
    restored.join("D", at=4)
    restored.ask("D", at=4)
    assert [share.name for share in restored.propose(count=4, at=4)] == ["B", "A", "C", "D"]


def test_where_somebody_stands_depends_on_how_much_is_given_whole():
    allocator = Allocator("least_served", by_request=True)
    for name, wants in (("Ann", 1.0), ("Bob", 5.0)):
        allocator.join(name)
        allocator.ask(name, wants)
    assert [(one.name, one.rank) for one in allocator.ranking()] == [("Ann", 1), ("Bob", 2)]
    ranked = allocator.ranking(amount=5.0)
    assert [(one.name, one.rank) for one in ranked] == [("Bob", 1), ("Ann", None)]
    assert allocator.standing("Bob", amount=5.0)[0].rank == 1
    assert allocator.why("Ann", amount=5.0) == (
        "Ann is not eligible: it wants 1 more, and 5 is given whole."
    )
    assert allocator.why("Ann", among=["Bob"], amount=1.0) == (
        "Ann is not eligible: it is not among those who could take it."
    )
    assert allocator.next(5.0).name == "Bob"
    with pytest.raises(EvenhandError, match="`amount` is 0: it must be a number above 0"):
        allocator.ranking(amount=0)


@pytest.mark.parametrize(
    "kind",
    [int, np.int64, np.uint16, float, np.float32, np.float64],
    ids=lambda kind: kind.__name__,
)
def test_a_number_may_be_of_numpy_wherever_one_is_taken(kind):
    allocator = Allocator("least_served", by_request=True)
    events = [allocator.join(name, at=kind(1), entitlement=kind(2)) for name in "AB"]
    events += [allocator.entitle("A", kind(3), at=kind(1)), allocator.pause("B", at=kind(1))]
    events += [allocator.ask(name, kind(6), at=kind(2)) for name in "AB"]
    events += [allocator.resume("B", at=kind(2)), allocator.give("A", kind(3), at=kind(3))]
    (share,) = allocator.propose(kind(2), at=kind(4), count=np.int64(1))
    assert allocator.next(kind(2), at=kind(4)) == share == Share("B", 2, share.reason)
    assert allocator.decide(kind(2), at=kind(4)) == [share]
    events.append(Give("B", 4, 2))  # which is the same
    # A has 3 of the 6 it asked for, B 2: 1 per unit of what each is entitled to, and A came first.
    assert [one.name for one in allocator.ranking(kind(5), amount=kind(3), most=np.int64(1))] == [
        "A"
    ]
    assert allocator.standing("B", kind(5), amount=kind(3))[0].rank == 2
    assert allocator.why("B", kind(5), amount=kind(5)) == (
        "B is not eligible: it wants 4 more, and 5 is given whole."
    )
    events.append(allocator.leave("B", at=kind(5)))
    again = Allocator("least_served", by_request=True)
    for line in json.loads(json.dumps([event.to_json() for event in events])):
        again.apply(MemberEvent.from_json(line))
    assert again.snapshot() == json.loads(json.dumps(allocator.snapshot())) == allocator.snapshot()


@pytest.mark.parametrize(
    "day",
    [
        lambda day: f"2021-03-{day:02}",
        lambda day: datetime.date(2021, 3, day),
        lambda day: datetime.datetime(2021, 3, day),
        lambda day: np.datetime64(f"2021-03-{day:02}"),
    ],
)
def test_a_moment_may_be_a_date_of_any_kind_wherever_one_is_taken(day):
    allocator = Allocator("longest_wait", dates=True)
    events = [allocator.join(name, at=day(k)) for k, name in enumerate("ABC", 1)]
    events += [allocator.pause("A", at=day(4)), allocator.resume("A", at=day(5))]
    events += [allocator.entitle("B", 2, at=day(5)), allocator.ask("B", at=day(5))]
    assert allocator.next(at=day(6)).reason == allocator.ranking(at=day(6))[0].reason
    assert allocator.why("B", at=day(6)) == (
        "B is second of 3: it has waited 4 days. A is next: it has waited 5 days."
    )
    events += [allocator.give("B", at=day(6)), allocator.leave("C", at=day(7))]
    again = Allocator("longest_wait", dates=True)
    for line in json.loads(json.dumps([event.to_json() for event in events])):
        again.apply(MemberEvent.from_json(line))
    assert again.snapshot() == allocator.snapshot()
    assert json.loads(json.dumps(allocator.snapshot())) == allocator.snapshot()


def test_what_is_undone_is_left_out_and_not_applied():
    allocator = Allocator("least_served")
    with pytest.raises(EvenhandError, match="does not happen to a stakeholder"):
        allocator.apply(Undo(1))


def test_mistyped_arguments_are_sentences():
    with pytest.raises(BadParameter, match="`ties` is 'draw': it must be a TieBreak, such as ByD"):
        Allocator("least_served", ties="draw")
    with pytest.raises(BadParameter, match="`ties` is the class ByDraw: make an object of it"):
        Allocator("least_served", ties=ByDraw)
    desk = Allocator("least_served")
    desk.join("Ann")
    desk.join("Ben")
    for most in ("x", 1.5, -1, True):
        with pytest.raises(BadParameter, match=f"`most` is {most!r}: it must be a whole number"):
            desk.ranking(most=most)
    assert [one.name for one in desk.ranking(most=np.int64(1))] == ["Ann"]
    assert desk.ranking(most=0) == []
