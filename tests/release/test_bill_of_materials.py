"""The bill of materials has every package once, with what it needs and where it comes from."""

from __future__ import annotations

import hashlib
import json

from release.bill_of_materials import bill_of_materials
from release.dependencies import Dependency

FOUND = [
    Dependency("jax", "0.7", "Apache-2.0", "learn", ("numpy", "not-installed")),
    Dependency("numpy", "2.1", "not said", "", ()),
]


def test_it_lists_what_is_needed_and_what_needs_what(tmp_path):
    wheel = tmp_path / "evenhand-1.2-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    bill = json.loads(json.dumps(bill_of_materials("1.2", FOUND, [wheel])))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    jax, numpy = bill["components"]
    assert (jax["purl"], jax["scope"]) == ("pkg:pypi/jax@0.7", "optional")
    assert jax["licenses"] == [{"expression": "Apache-2.0"}]
    assert (numpy["scope"], "licenses" in numpy) == ("required", False)
    links = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert links["pkg:pypi/jax@0.7"] == ["pkg:pypi/numpy@2.1"]
    assert links["pkg:pypi/evenhand@1.2"] == ["pkg:pypi/jax@0.7", "pkg:pypi/numpy@2.1"]
    (file,) = bill["metadata"]["component"]["components"]
    assert file["hashes"][0]["content"] == hashlib.sha256(b"wheel").hexdigest()


def test_every_reference_is_that_of_one_component():
    bill = bill_of_materials("1.2", FOUND)
    refs = [one["bom-ref"] for one in bill["components"]]
    assert len(set(refs)) == len(refs)
    assert {one["ref"] for one in bill["dependencies"]} == {*refs, "pkg:pypi/evenhand@1.2"}
