"""Names shown in place of codes: everywhere, and without changing what is judged."""

from __future__ import annotations

import pandas as pd
import pytest

from evenhand.errors import BadRoster
from logs import audit_alone as audit

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
