"""Groups of stakeholders: one group each, and who is in the wrong place is named."""

from __future__ import annotations

import pytest

from evenhand import Groups
from evenhand.errors import GroupsDoNotFit


def test_whoever_is_in_no_group_is_like_no_other():
    assert Groups.of({"A": [0], "B": [1]}).labels(4) == (0, 1, 4, 5)
    assert Groups.of({"A": [2, 0], "B": [1]}).labels(3) == (0, 1, 0)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"A": [0, 1], "B": [2, 1]}, "stakeholder 1 is listed twice"),
        ({"A": [0, 1], "B": [-1]}, "stakeholder -1 does not exist"),
        ({"A": [0], "B": []}, "group 'B' has no members"),
        ({}, "there are no groups"),
        ({"A": ["x"]}, "whole numbers"),
    ],
)
def test_who_is_in_the_wrong_place_is_named(groups, words):
    with pytest.raises(GroupsDoNotFit, match=words):
        Groups.of(groups)


def test_groups_fit_if_everyone_there_is_in_one():
    groups = Groups.of({"A": [0, 2], "B": [1]})
    groups.require_fit(3)
    with pytest.raises(GroupsDoNotFit, match="stakeholder 3 is in no group"):
        groups.require_fit(4)
    with pytest.raises(
        GroupsDoNotFit, match=r"'A' names stakeholder 2, but there are only 2 \(0 to 1\)"
    ):
        groups.require_fit(2)
