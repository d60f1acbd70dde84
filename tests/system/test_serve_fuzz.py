"""The API attacked from its own description: no 5xx, and every answer is as described."""

from __future__ import annotations

import os

import pytest

from serving import client_of, new_store

# What the fuzzer itself deprecates is not ours to fix.
pytestmark = [pytest.mark.system, pytest.mark.filterwarnings("ignore")]
schemathesis = pytest.importorskip("schemathesis")
EXAMPLES = int(os.environ.get("EVENHAND_FUZZ_EXAMPLES", "60"))


def test_no_request_that_fits_the_description_or_does_not_breaks_it(tmp_path):
    import hypothesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    ]
    store = new_store(tmp_path)
    with client_of(store) as client:
        for name, rule in (("a", "least_served"), ("b", "half_life:7d"), ("c", "first_come")):
            people = [{"name": one} for one in ("Ann", "Ben")]
            client.post("/v1/pools", json={"name": name, "rule": rule, "stakeholders": people})
        token = client.headers["authorization"]
        schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
        tried = 0
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path.endswith("/stream"):  # which does not end
                continue
            strategies = [
                operation.as_strategy(generation_mode=mode)
                for mode in (
                    schemathesis.GenerationMode.POSITIVE,
                    schemathesis.GenerationMode.NEGATIVE,
                )
            ]

            @hypothesis.settings(
                max_examples=EXAMPLES,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(hypothesis.HealthCheck),
            )
            @hypothesis.given(data=hypothesis.strategies.data())
            def attack(data, strategies=strategies):
                nonlocal tried
                try:
                    case = data.draw(hypothesis.strategies.one_of(strategies))
                except hypothesis.errors.InvalidArgument:
                    hypothesis.reject()
                if "pool" in (case.path_parameters or {}) and data.draw(
                    hypothesis.strategies.booleans()
                ):
                    case.path_parameters["pool"] = data.draw(
                        hypothesis.strategies.sampled_from("abc")
                    )
                case.headers = {**(case.headers or {}), "authorization": token}
                kwargs = case.as_transport_kwargs(base_url="http://testserver")
                kwargs.pop("verify", None), kwargs.pop("cookies", None)
                answer = send(client, kwargs)
                tried += 1
                judged = schemathesis.Response.from_any(answer)
                case.validate_response(judged, checks=checks)

            attack()
    store.close()
    print(f"{tried:,} requests")


def send(client, kwargs):
    """The request as it is, by way of the client in this process."""
    given = {name: kwargs[name] for name in ("params", "headers", "json") if kwargs.get(name)}
    if kwargs.get("data") is not None:
        given["content"] = kwargs["data"]
    return client.request(kwargs["method"], kwargs["url"], **given)
