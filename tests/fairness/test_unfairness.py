"""To whom it is unfair, asked of lists and of arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from evenhand import overall_unfairness, unfair_in_favour_of, unfair_to
from evenhand.errors import NotFinite, UnequalLengths

STATUSES = [[6, 8, 10], [9, 9, 9], [1, 4, 1]]


@pytest.mark.parametrize("form", [list, tuple, np.array, jnp.array, pd.DataFrame])
def test_lists_and_arrays_are_judged_alike(form):
    statuses = form(STATUSES)
    assert unfair_to(statuses).tolist() == [[True, False, False], [False] * 3, [True, False, True]]
    assert unfair_in_favour_of(statuses).tolist() == [
        *([False, False, True], [False] * 3, [False, True, False])
    ]
    assert overall_unfairness(statuses).tolist() == [-3.0, 2.0, 1.0]


def test_weights_may_be_a_list_too():
    assert unfair_to([6, 9], weights=[0.5, 1.5]).tolist() == [True, False]
    assert overall_unfairness([[6, 9]], weights=[[0.5, 1.5]]).tolist() == [-2.25, 0.75]


def test_what_is_traced_stays_traced():
    assert jax.jit(unfair_to)(jnp.array([1.0, 2.0])).tolist() == [True, False]


def test_what_is_not_of_that_form_is_a_sentence():
    for function in (unfair_to, unfair_in_favour_of):
        with pytest.raises(UnequalLengths) as alone:
            function(3)
        assert str(alone.value) == "statuses is 3: it must have one number per stakeholder."
        with pytest.raises(NotFinite, match=r"^statuses must be numbers in equal rows"):
            function([[1, 2], [3]])
        with pytest.raises(NotFinite, match=r"^statuses must be numbers in equal rows"):
            function("Ann")
        with pytest.raises(NotFinite, match=r"^weights must be numbers in equal rows"):
            function([1, 2], weights=["a", "b"])
    for once in ([6, 8, 10], np.array([6.0, 8.0])):
        with pytest.raises(UnequalLengths, match=r"^assessed is .*: it must have a row for each"):
            overall_unfairness(once)
