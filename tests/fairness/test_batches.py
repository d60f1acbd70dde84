"""Whatever axes stand before that of the stakeholders: each vector is judged by itself.

A scheme scores blocks of [time, stakeholder], a learner one vector, and a planner tables of more.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from built_ins import BESIDE, STATUS, WELFARE, N
from evenhand.fairness.status.derived import Derived
from evenhand.fairness.unfairness import unfair_in_favour_of, unfair_to, unfairness

RNG = np.random.default_rng(0)
VALUES, WEIGHTS = RNG.uniform(0.5, 3.0, (2, 3, N)), RNG.uniform(0.5, 2.0, (2, 3, N))
VALUES[0, 1] = 1.5  # all are equal
WEIGHTS /= WEIGHTS.mean(axis=-1, keepdims=True)
DERIVED = [status for status in STATUS if isinstance(status, Derived)]


def require_each_alone(function, *arrays):
    """The function of all at once is that of each vector, in NumPy and in JAX."""
    together = np.asarray(function(*arrays))
    for place in np.ndindex(2, 3):
        alone = [array[place] for array in arrays]
        np.testing.assert_allclose(together[place], function(*alone), rtol=1e-12, atol=1e-12)
        in_jax = function(*map(jnp.asarray, alone))
        np.testing.assert_allclose(together[place], in_jax, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("welfare", WELFARE, ids=repr)
def test_welfare(welfare):
    require_each_alone(welfare, VALUES)
    require_each_alone(welfare.weighted, VALUES, WEIGHTS)


@pytest.mark.parametrize("status", DERIVED, ids=repr)
def test_a_status_of_another(status):
    require_each_alone(status.transform, VALUES)


@pytest.mark.parametrize("status", [s for s in BESIDE if hasattr(s, "transform")], ids=repr)
def test_a_status_beside_what_else_is_known(status):
    require_each_alone(status.transform, VALUES, np.round(2 * WEIGHTS))


@pytest.mark.parametrize("judged", [unfairness, unfair_to, unfair_in_favour_of])
def test_unfairness(judged):
    require_each_alone(judged, VALUES)
    require_each_alone(judged, VALUES, WEIGHTS)
