"""Rules by name: every registered one, and what is said of a name that is wrong."""

from __future__ import annotations

import pytest

from evenhand.decide.rules.named_rule import rule_of, rule_to_table
from evenhand.decide.rules.rule import RULES
from evenhand.errors import EvenhandError

WRITTEN = {"half_life": "half_life:2w", "deadline": "deadline:3"}


@pytest.mark.parametrize("name", list(RULES.classes))
def test_every_rule_has_a_name_that_comes_back(name):
    rule = rule_of(WRITTEN.get(name, name))
    assert RULES.name_of(rule) == name
    assert rule_of(rule_to_table(rule)) == rule
    assert rule.describe()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("least_serve", "did you mean 'least_served'"),
        ("half_life", "such as half_life:7d"),
        ("half_life:soon", "such as 30d"),
        ("deadline:0", "at least 1"),
        ("longest_wait:3", "takes nothing after a colon"),
        ("lottery:x", "whole number"),
    ],
)
def test_a_wrong_name_is_refused_in_a_sentence(written, said):
    with pytest.raises(EvenhandError, match=said):
        rule_of(written)


def test_a_number_as_it_is_typed():
    assert rule_of("lottery:7").seed == 7
