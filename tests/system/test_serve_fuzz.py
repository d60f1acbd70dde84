"""The API attacked from its own description: no 5xx, and every answer is as described."""

from __future__ import annotations

import contextlib
import os

import hypothesis
import pytest
from hypothesis import strategies as st

from serving import client_of, new_store

# What the fuzzer itself deprecates is not ours to fix.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("ignore")]
schemathesis = pytest.importorskip("schemathesis")
EXAMPLES = int(os.environ.get("EVENHAND_FUZZ_EXAMPLES", "60"))
POOLS = (("a", "least_served"), ("b", "half_life:7d"), ("c", "first_come"))
PEOPLE = [{"name": name} for name in ("Ann", "Ben")]


def test_no_request_that_fits_the_description_or_does_not_breaks_it(tmp_path):
    store, tried = new_store(tmp_path), 0
    with client_of(store) as client:
        for name, rule in POOLS:
            client.post("/v1/pools", json={"name": name, "rule": rule, "stakeholders": PEOPLE})
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        for found in schema.get_all_operations():
            operation = found.ok()
            if not operation.path.endswith("/stream"):  # which does not end
                tried += attacked(operation, client)
    store.close()
    print(f"{tried:,} requests")


def attacked(operation, client):
    """How often an operation was tried, with what fits its description and what does not."""
    modes = (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE)
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes])
    tried = 0

    @hypothesis.settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(data=st.data())
    def attack(data):
        nonlocal tried
        case = data.draw(cases)
        if "pool" in (case.path_parameters or {}) and data.draw(st.booleans()):
            case.path_parameters["pool"] = data.draw(st.sampled_from("abc"))
        case.headers["authorization"] = client.headers["authorization"]
        case.validate_response(sent(case, client), checks=checks())
        tried += 1

    with contextlib.suppress(hypothesis.errors.Unsatisfiable):  # nothing can fail to fit
        attack()
    return tried


def checks():
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as described

    return [
        not_a_server_error,
        described.content_type_conformance,
        described.response_schema_conformance,
        described.status_code_conformance,
    ]


def sent(case, client):
    """What the service in this process answers."""
    import requests

    given = case.as_transport_kwargs(base_url="http://testserver")
    try:
        asked = requests.Request(
            **{k: given[k] for k in ("method", "url", "params", "headers", "json", "data", "files")
               if given.get(k) is not None}
        ).prepare()  # fmt: skip
    except (requests.RequestException, UnicodeError, ValueError):
        hypothesis.reject()  # what no client can send
    headers = {name: value for name, value in asked.headers.items() if name.isascii()}
    answer = client.request(asked.method, asked.url, headers=headers, content=asked.body)
    return schemathesis.Response(
        status_code=answer.status_code,
        headers={name.lower(): [value] for name, value in answer.headers.items()},
        content=answer.content,
        request=asked,
        elapsed=0.0,
        verify=False,
    )
