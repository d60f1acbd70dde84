"""Which rows are imagined from a row, and which rows are alike, by hand."""

from __future__ import annotations

import numpy as np

from evenhand.envs import Doughnuts
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import Parity
from evenhand.learn.proposals import Around
from evenhand.learn.tabular.memory_rows import _each_once, number_rows
from evenhand.learn.tabular.q_learning import Tabular
from evenhand.memory.memory import Min
from evenhand.problem.problem import Problem


def test_each_row_is_named_once_and_the_real_one_not_at_all():
    found = np.array([[1, 1, 0], [2, -1, 2], [0, 1, -1], [2, 3, 2]])
    once = [[1, -1, -1], [2, -1, -1], [0, 1, -1], [2, -1, -1]]
    assert _each_once(found).tolist() == once


def test_equal_rows_have_one_number_whatever_they_are_made_of():
    flags, pairs = np.array([True, False, True, True]), np.array([[1, 2], [1, 2], [1, 2], [1, 3]])
    assert number_rows((flags, pairs)).tolist() == [1, 0, 1, 2]
    # What differs by rounding alone is equal: nine digits count.
    assert number_rows(np.array([[0.0], [4e-10], [2e-9]])).tolist() == [0, 0, 1]


def test_a_memory_that_does_not_exist_is_no_row():
    shop = Doughnuts(num_stakeholders=2, horizon=4, presence=0.7)
    learner = Tabular(Problem(shop, anytime(Parity(), Total()), Min()), Around(2))
    leads = [
        tuple(map(int, one))
        for one in learner.table.model.from_rows(learner.table.rows, 0)[1].status
    ]
    for row, others in enumerate(learner.imagined[: learner.table.within[4]]):
        first = int(np.argmax(leads[row]))
        for offset, other in zip((-2, -1, 1, 2), others, strict=True):
            lead = leads[row][first] + offset
            if lead < 0:
                assert other == -1
            elif other >= 0:
                assert leads[other] == tuple(lead if i == first else 0 for i in range(2))
    assert (learner.imagined[0] >= 0).tolist() == [False, False, True, True]
