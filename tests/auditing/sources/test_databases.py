"""What a database needs that is not installed is said with the command that brings it."""

import sys

import pytest

from evenhand import audit
from evenhand.errors import MissingExtra


@pytest.mark.parametrize(("module", "named"), [("ibis", "Ibis"), ("psycopg", "psycopg")])
def test_a_missing_package_is_named(monkeypatch, module, named):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"needs {named}, .*pip install 'evenhand\[sql\]'"):
        audit("postgresql://somewhere.invalid/log", stakeholder="who", time="when")
