"""A licence fits if every part of it does, or one of those that may be chosen."""

from __future__ import annotations

import pytest
from release.dependencies import Dependency, closure
from release.licences import fits, licence_page, unfitting

from places import ROOT


@pytest.mark.parametrize(
    ("expression", "fitting"),
    [
        ("MIT", True),
        ("AGPL-3.0-only", False),
        ("not said", False),
        ("MIT AND Apache-2.0", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("GPL-3.0-only AND (MIT OR Apache-2.0)", False),
        ("MPL-2.0 AND (GPL-2.0-only OR MIT)", True),
        ("GPL-3.0-or-later WITH GCC-exception-3.1", True),
        ("GPL-3.0-or-later WITH Classpath-exception-2.0", False),
    ],
)
def test_an_expression_fits_if_its_parts_do(expression, fitting):
    assert fits(expression) is fitting


def test_the_page_has_a_table_for_each_extra():
    found = [
        Dependency("numpy", "2.1", "BSD-3-Clause", "", ()),
        Dependency("jax", "0.7", "Apache-2.0", "learn", ("numpy",)),
        Dependency("evil", "1", "AGPL-3.0-only", "learn", ()),
    ]
    page = licence_page(found)
    assert page.index("| numpy | BSD-3-Clause |") < page.index("(`evenhand[learn]`)")
    assert page.index("(`evenhand[learn]`)") < page.index("| jax | Apache-2.0 |")
    assert [one.name for one in unfitting(found)] == ["evil"]


def test_what_is_installed_fits_and_is_on_the_page():
    page = (ROOT / "docs" / "licences.md").read_text()
    found = closure(("learn",))
    assert {"numpy", "duckdb", "jax"} <= {one.name for one in found}
    assert unfitting(found) == []
    for one in found:
        assert f"| {one.name} | {one.licence} |" in page, one
