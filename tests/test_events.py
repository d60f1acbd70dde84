"""Events: valid as soon as they exist, and the same in JSON and back."""

from __future__ import annotations

import datetime
import fractions
import json

import numpy as np
import orjson
import pytest

from evenhand.errors import EvenhandError
from evenhand.events import (
    EVENTS,
    Ask,
    Entitle,
    Event,
    Give,
    Join,
    Leave,
    MemberEvent,
    Pause,
    Resume,
    Undo,
)

# As files and stores have had them since the first version.
WRITTEN = [
    (Join("A"), '{"event":"join","name":"A","entitlement":1.0}'),
    (Join("A", 0, 2), '{"event":"join","name":"A","at":0,"entitlement":2}'),
    (Leave("A", "2021-03-31"), '{"event":"leave","name":"A","at":"2021-03-31"}'),
    (Pause("A", 1.5), '{"event":"pause","name":"A","at":1.5}'),
    (Resume("Zoë"), '{"event":"resume","name":"Zoë"}'),
    (Entitle("A", 3, 0.5), '{"event":"entitle","name":"A","at":3,"entitlement":0.5}'),
    (Ask("A", 3, 2), '{"event":"ask","name":"A","at":3,"amount":2}'),
    (Give("A", 3, 5), '{"event":"give","name":"A","at":3,"amount":5}'),
    (
        Give("A", 3, 5, ("A", "B")),
        '{"event":"give","name":"A","at":3,"amount":5,"among":["A","B"]}',
    ),
    (Undo(7), '{"event":"undo","number":7}'),
    (Undo(7, "a slip"), '{"event":"undo","number":7,"reason":"a slip"}'),
]


@pytest.mark.parametrize(("event", "text"), WRITTEN)
def test_an_event_is_written_and_read_as_it_always_was(event, text):
    assert orjson.dumps(event.to_json()).decode() == text
    assert Event.from_json(json.loads(text)) == event


def test_every_kind_is_written_here():
    assert {type(event) for event, _ in WRITTEN} == set(EVENTS.classes.values())


@pytest.mark.parametrize(
    ("given", "held"),
    [
        *((5, 5), (0.5, 0.5), (np.int64(5), 5), (np.uint8(5), 5), (np.float32(0.5), 0.5)),
        *((np.float64(0.5), 0.5), (fractions.Fraction(1, 4), 0.25)),
    ],
)
def test_numbers_of_every_library_become_numbers_of_json(given, held):
    for event in (Give("A", given, given), Join("A", given, given), Ask("A", given, given)):
        table = event.to_json()
        assert list(table.values())[-2:] == [held, held]
        assert json.loads(json.dumps(table)) == json.loads(orjson.dumps(table)) == table
        assert {type(one) for one in list(table.values())[-2:]} == {type(held)}


@pytest.mark.parametrize(
    ("given", "held"),
    [
        (datetime.date(2021, 3, 31), "2021-03-31"),
        (datetime.datetime(2021, 3, 31, 10), "2021-03-31T10:00:00"),
        (
            datetime.datetime(2021, 3, 31, 10, tzinfo=datetime.UTC),
            "2021-03-31T10:00:00+00:00",
        ),
        (np.datetime64("2021-03-31"), "2021-03-31T00:00:00"),
        (np.datetime64("2021-03-31T10:00:00.25"), "2021-03-31T10:00:00.250000"),
        ("31 March", "31 March"),  # whoever lets it happen knows whether times are dates
    ],
)
def test_dates_of_every_library_become_texts(given, held):
    assert Leave("A", given).to_json() == {"event": "leave", "name": "A", "at": held}


@pytest.mark.parametrize(
    ("make", "said"),
    [
        *(
            (lambda amount=amount: Give("A", 0, amount), "`amount` is .*a number above 0")
            for amount in (0, -1, True, "1", None, float("nan"), float("inf"), 10**400, np.nan)
        ),
        (lambda: Entitle("A", 0, 0), "`entitlement` is 0: it must be a number above 0"),
        (lambda: Join(3), "^`name` is 3: it must be a text that is not empty"),
        (lambda: Join(""), "^`name` is '': it must be a text that is not empty"),
        (lambda: Give("A", among=["A", 3]), "^`among` is 3: it must be a text"),
        *(
            (lambda at=at: Pause("A", at), "^`at` is .*: it must be a plain number, or a date")
            for at in (float("nan"), [1], True, float("inf"))
        ),
        (lambda: Undo(0), "^`number` is 0: it must be a whole number from 1"),
        (lambda: Event.from_json({"event": "gift", "name": "A"}), "no event called 'gift'"),
        (lambda: Event.from_json({"name": "A"}), "what happened in 'event', one of join, leave,"),
        (lambda: Event.from_json({"event": "give"}), "needs the 'name' of a stakeholder"),
        (lambda: Event.from_json({"event": "give", "name": 3}), "needs the 'name'"),
        (lambda: Event.from_json({"event": "give", "x": 1}), "has no 'x': it has name, at, am"),
        (lambda: Event.from_json({"event": "undo"}), "needs a 'number'"),
        (
            lambda: MemberEvent.from_json({"event": "undo", "number": 1}),
            "^the event is 'undo': it must be one of join, leave, pause, resume, entitle, ask, gi",
        ),
        (lambda: Event.from_json({"event": "ask", "name": "A", "amount": "1"}), "above 0"),
    ],
)
def test_what_cannot_be_is_refused_at_once(make, said):
    with pytest.raises(EvenhandError, match=said):
        make()
