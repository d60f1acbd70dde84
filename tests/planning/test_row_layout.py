"""States as rows and back: nothing is lost, and each stakeholder's columns are theirs."""

from __future__ import annotations

import numpy as np

from evenhand.planning.row_layout import RowLayout

EXAMPLE = {
    "counts": np.zeros(3),
    "flag": np.zeros((), dtype=bool),
    "table": np.zeros((2, 3), dtype=np.int32),
    "time": np.zeros((), dtype=np.int32),
}


def test_rows_there_and_back():
    rng = np.random.default_rng(0)
    trees = {
        "counts": rng.normal(size=(5, 3)),
        "flag": rng.random(5) < 0.5,
        "table": rng.integers(0, 9, (5, 2, 3)).astype(np.int32),
        "time": np.arange(5, dtype=np.int32),
    }
    layout = RowLayout.of(EXAMPLE)
    rows = layout.to_rows(trees)
    assert rows.shape == (5, 3 + 1 + 6 + 1)
    back = layout.from_rows(rows)
    single = layout.from_row(rows[3])
    for name, leaf in trees.items():
        np.testing.assert_array_equal(back[name], leaf)
        assert back[name].dtype == EXAMPLE[name].dtype
        np.testing.assert_allclose(single[name], leaf[3], rtol=1e-6)
        assert single[name].shape == EXAMPLE[name].shape


def test_the_columns_of_each_stakeholder():
    """Leaves by name: three counts, a flag, two rows of three, a step number."""
    layout = RowLayout.of(EXAMPLE)
    assert layout.columns_of_each(3).tolist() == [[0, 1, 2], [4, 5, 6], [7, 8, 9]]
    assert layout.columns_of_each(4).shape == (0, 4)
