"""Tests of log.people."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.errors import BadRoster
from logs import audit_alone as audit

# Names shown in place of codes: everywhere, and without changing what is judged.

MAPPED = {"stakeholder": "who", "time": "date", "amount": "doses", "welfare": "rawls"}
LOG = pd.DataFrame({"date": [1, 2, 3], "who": ["E1", "E2", "E2"], "doses": [9.0, 1.0, -0.5]})
NAMES = {"E1": "Eden, North", "E2": "Ely", "E3": "nobody here"}


def test_names_are_shown_everywhere_and_nothing_else_changes(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text('code,name\nE1,"Eden, North"\nE2,Ely\n')
    plain, named = (audit(LOG, **MAPPED, display_names=given) for given in (None, str(path)))
    assert named.over_time.names == ("Eden, North", "Ely")
    assert "Treated worst overall was Ely" in named.verdict
    assert named.corrections == (("3", "Ely", -0.5),)
    assert [(one.name, one.code) for one in named.by_stakeholder] == [
        ("Ely", "E2"),
        ("Eden, North", "E1"),
    ]
    assert [one.code for one in plain.by_stakeholder] == [None, None]
    assert named.overall == plain.overall
    assert named.origin["fingerprint"] == plain.origin["fingerprint"]


def test_a_mapping_and_groups():
    groups = LOG.assign(part=["p", "q", "q"])
    found = audit(groups, **MAPPED, by="part", display_names={"q": "Quarter"})
    assert found.treated_worst == ("Quarter",)
    within = audit(groups, **MAPPED, group="part", display_names=NAMES)
    assert within.stakeholder("Ely").group == "q"


def test_those_without_a_name_are_noted():
    found = audit(LOG, **MAPPED, display_names={"E1": "Eden"})
    assert found.over_time.names == ("Eden", "E2")
    assert any("1 stakeholder has no name" in note and "E2" in note for note in found.notes)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"E1": "Ely", "E2": "Ely"}, "would all be shown as 'Ely'"),
        ({"E1": "E2"}, "would all be shown as 'E2'"),
        ({"x": "y"}, "has a name for none of the stakeholders"),
    ],
)
def test_names_that_do_not_fit_are_refused(names, words):
    with pytest.raises(BadRoster, match=words):
        audit(LOG, **MAPPED, display_names=names)


def test_a_table_that_is_none_of_names_is_refused(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("code,name,more\nE1,a,b\n")
    with pytest.raises(BadRoster, match="3 columns"):
        audit(LOG, **MAPPED, display_names=str(path))
    path.write_text("code,name\nE1,a\nE1,b\n")
    with pytest.raises(BadRoster, match="'E1' twice"):
        audit(LOG, **MAPPED, display_names=str(path))


# An entitlement that changes counts as of each moment, be it higher or lower than before.

LOG_ENTITLEMENT = {"stakeholder": "who", "time": "at", "amount": "much", "entitlement": "people"}


@pytest.mark.parametrize("people", [(2, 1, 4), (1, 4, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 3, 2, 0)])
def test_an_entitlement_counts_as_of_each_moment_in_any_order_of_the_rows(people, order):
    rows = [(at, "A", 4, people[at]) for at in range(3)] + [(1, "B", 3, 1)]
    table = pd.DataFrame([rows[k] for k in order], columns=["at", "who", "much", "people"])
    answer = audit(table, **LOG_ENTITLEMENT)
    for at, mean in enumerate(answer.over_time.mean):
        given = 4 * (at + 1) + 3 * (at >= 1)
        assert mean == pytest.approx(given / (people[at] + 1))
        assert answer.over_time.unfairness[at, 0] == pytest.approx(4 * (at + 1) / people[at] - mean)
    assert answer.stakeholder("A").entitlement == people[-1]
    assert answer.stakeholder("A").final == 12 / people[-1]
    assert answer.stakeholder("B").final == 3
    assert any("each counts as it was at each moment" in note for note in answer.notes)


def test_an_empty_cell_says_nothing_of_the_entitlement():
    rows = [(0, "A", 4, 2.0), (1, "A", 4, None), (1, "B", 3, 1.0)]
    answer = audit(
        pd.DataFrame(rows, columns=["at", "who", "much", "people"]), **LOG_ENTITLEMENT, at_end=True
    )
    assert answer.stakeholder("A").final == 4
    assert not any("changes over time" in note for note in answer.notes)


@pytest.mark.parametrize("later", [2, 4])  # the same at all times, or changing
def test_whoever_has_only_empty_amounts_is_entitled_as_its_rows_say(later):
    log = pd.DataFrame(
        {
            "day": [1, 1, 2, 2],
            "who": ["A", "B", "A", "B"],
            "got": [4.0, None, 4.0, None],
            "size": [2, 6, later, 6],
        }
    )
    answer = audit(log, stakeholder="who", time="day", amount="got", entitlement="size")
    assert answer.stakeholder("B").received == 0
    assert answer.stakeholder("B").final_unfairness == pytest.approx(-8 / (later + 6))


@pytest.mark.parametrize("value", ["x", None, [1], 10**400])
def test_an_entitlement_that_is_no_number_is_named(value):
    log = pd.DataFrame({"day": [1, 2], "who": ["A", "B"], "got": [1.0, 2.0]})
    with pytest.raises(BadRoster, match="the entitlement of 'A' is"):
        audit(log, stakeholder="who", time="day", amount="got", entitlement={"A": value, "B": 1})
