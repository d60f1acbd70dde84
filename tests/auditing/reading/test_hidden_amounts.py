"""Suppressed amounts: unknown and not zero, nobody vanishes, and what they could change is said."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.errors import EvenhandError
from logs import MAPPED, OPTIONS, write
from read_alone import audit

DAYS = ("2021-01-31", "2021-02-28")


def table(**amounts):
    """A row for each stakeholder and day."""
    return [(day, name, pair[k]) for k, day in enumerate(DAYS) for name, pair in amounts.items()]


def answer(tmp_path, missing=(), **amounts):
    return audit(write(tmp_path / "log.csv", table(**amounts)), **MAPPED, missing=missing)


def score(tmp_path, **amounts):
    """Of the same log with numbers in place of marks."""
    return audit(write(tmp_path / "plain.csv", table(**amounts)), **MAPPED).score


def test_the_verdict_is_of_what_is_known_and_says_what_the_marks_can_hide(tmp_path):
    found = answer(tmp_path, A=(10, 3), B=(5, "<5"), C=(6, 1))
    assert found.score == score(tmp_path, A=(10, 3), B=(5, None), C=(6, 1))
    assert found.untold == {
        "rows": 1,
        "marks": [{"mark": "<5", "rows": 1, "lowest": 0.0, "highest": 4.0}],
        "not_judged": [],
        "with_lowest": {
            "all_treated_worst": ["B"],
            "equal_at_end": False,
            "score": score(tmp_path, A=(10, 3), B=(5, 0), C=(6, 1)),
        },
        "with_highest": {
            # 10, 5, 6 and then 13, 9, 7: B is 2 and 2/3 below the mean in all, C 1 and 8/3
            "all_treated_worst": ["C"],
            "equal_at_end": False,
            "score": score(tmp_path, A=(10, 3), B=(5, 4), C=(6, 1)),
        },
    }
    assert "1 amount is suppressed ('<5' in 1 row) and not counted." in found.verdict
    assert (
        "If all were the lowest they can be, the verdict would be the same; if all were the "
        "highest, treated worst overall would be C (unequal at the end) (they can be 0 to 4 for "
        "'<5')." in found.verdict
    )


def test_a_stakeholder_of_whom_all_is_suppressed_is_named_and_not_judged(tmp_path):
    found = answer(tmp_path, A=(10, 3), B=(5, 4), C=("*", "*"))
    assert found.score == score(tmp_path, A=(10, 3), B=(5, 4))  # and not 0 for C
    assert "C is not judged, as all of its amounts are suppressed." in found.verdict
    hidden = found.stakeholder("C")
    assert (hidden.assessments, hidden.received) == (0, None)
    assert found.to_json()["stakeholders"][-1]["final"] is None or hidden.final != hidden.final
    assert found.untold["with_lowest"]["all_treated_worst"] == ["C"]
    assert found.untold["with_highest"]["all_treated_worst"] == ["B"]  # C then has 10 and 10
    assert any("'*=1-4'" in note for note in found.notes)
    said = answer(tmp_path, missing="*=1-4", A=(10, 3), B=(5, 4), C=("*", "*"))
    assert said.untold["marks"] == [{"mark": "*", "rows": 2, "lowest": 1.0, "highest": 4.0}]
    assert not any("=1-4" in note for note in said.notes)


def test_marks_of_ones_own_in_text_and_in_numbers(tmp_path, refuses):
    amounts = {"A": (10, 3), "B": (5, "hush")}
    path = write(tmp_path / "own.csv", table(**amounts))
    refuses(("not a number", "'hush'", "--missing"), path, *OPTIONS)
    assert answer(tmp_path, missing="hush", **amounts).untold["rows"] == 1
    coded = pd.DataFrame(table(A=(10, 3), B=(5, -9)), columns=["date", "country", "doses"])
    found = audit(coded, **MAPPED, missing="-9=0-2")
    assert found.untold["marks"] == [{"mark": "-9.0", "rows": 1, "lowest": 0.0, "highest": 2.0}]
    assert found.score == score(tmp_path, A=(10, 3), B=(5, None))


def test_a_mark_is_not_an_empty_amount_and_an_empty_amount_is_not_a_mark(tmp_path):
    found = answer(tmp_path, A=(10, "*"), B=(5, None))
    assert found.untold["rows"] == 1
    assert any("1 row has an empty amount" in note for note in found.notes)
    assert answer(tmp_path, A=(10, 3), B=(5, None)).untold is None


def test_running_totals_that_are_suppressed_stay_as_they_were(tmp_path):
    rows = table(A=(10, 13), B=(5, "*"))
    found = audit(write(tmp_path / "log.csv", rows), **MAPPED, cumulative=True)
    assert found.stakeholder("B").final == 5
    assert found.untold["with_lowest"] is None
    assert "the one before stands" in found.verdict


@pytest.mark.parametrize(
    "how", [{"by": "group", "group": "team"}, {"entitlement": {"A": 1, "B": 2}}]
)
def test_with_groups_and_sizes(tmp_path, how):
    rows = [(*row, "t" + row[1]) for row in table(A=(10, 3), B=("c", "c"))]
    path = write(tmp_path / "log.csv", rows, columns=("date", "country", "doses", "team"))
    found = audit(path, **MAPPED, **how)
    assert "not judged" in found.verdict
    assert found.overall.unequal_assessments == 0  # A alone
    with pytest.raises(EvenhandError):
        audit(path, **MAPPED, **how, only=["C"])
