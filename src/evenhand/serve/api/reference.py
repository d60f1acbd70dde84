"""The OpenAPI description, and a page of it that needs nothing from the network."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from evenhand.report.html.element import Markup, element
from evenhand.serve.api.models import ProblemShown

OPEN_TO_ALL = ("/health", "/", "/docs")
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem; }
h2 { font-size: 1.3rem; margin: 3rem 0 0; }
h3 { font-size: 1rem; margin: 2rem 0 0; overflow-wrap: anywhere; }
p { margin: .3rem 0; }
nav ul { columns: 20rem; list-style: none; padding: 0; }
nav a { overflow-wrap: anywhere; }
table { border-collapse: collapse; table-layout: fixed; width: 100%; }
th, td { border-top: 1px solid #8886; padding: .2rem .5rem .2rem 0; text-align: left;
  vertical-align: top; overflow-wrap: break-word; }
th { width: 9rem; } td { width: 9rem; } td:last-child { width: auto; }
@media (max-width: 40rem) {
  tr { border-top: 1px solid #8886; display: block; padding: .3rem 0; }
  th, td, td:last-child { border: 0; display: inline-block; padding: 0 .6rem 0 0; width: auto; }
  td:last-child { display: block; }
  td:empty { display: none; }
}
"""


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of all routes: problems as they are answered, and that a token is needed."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
        )
        parts = found["components"]
        schemas = parts["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):  # problems are answered instead
            schemas.pop(name, None)
        schemas["ProblemShown"] = ProblemShown.model_json_schema()
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in found["paths"].items():
            if path not in OPEN_TO_ALL:
                for operation in methods.values():
                    operation["security"] = [{"token": []}]
        app.openapi_schema = found
    return app.openapi_schema


def reference_page(described: dict[str, Any]) -> tuple[bytes, str]:
    """The description as a page, and its content policy: no scripts, and its own style alone."""
    by_topic: dict[str, list[tuple[str, str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            by_topic.setdefault(operation["tags"][0], []).append((path, method, operation))
    parts = [
        element("h1", None, described["info"]["title"]),
        element("p", None, with_code(described["info"]["description"])),
        element("p", None, element("a", {"href": "/openapi.json"}, "The same for programs")),
        _contents(by_topic),
    ]
    schemas = described["components"]["schemas"]
    for topic, operations in by_topic.items():
        parts.append(element("h2", None, topic))
        parts += [_operation(path, method, one, schemas) for path, method, one in operations]
    return _page("evenhand serve: what can be asked", parts)


def _contents(by_topic: dict[str, list[tuple[str, str, Any]]]) -> Markup:
    links = [
        element("li", None, element("a", {"href": f"#{one['operationId']}"}, _call(path, method)))
        for operations in by_topic.values()
        for path, method, one in operations
    ]
    return element("nav", {"aria-label": "All of them"}, element("ul", None, links))


def _call(path: str, method: str) -> Markup:
    return element("code", None, f"{method.upper()} {path}")


def with_code(words: str) -> list[str | Markup]:
    """Words of which some are in backquotes."""
    parts = words.split("`")
    return [element("code", None, part) if k % 2 else part for k, part in enumerate(parts)]


def _page(title: str, parts: list[Markup]) -> tuple[bytes, str]:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    head = (
        element("meta", {"charset": "utf-8"}),
        element("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}),
        element("meta", {"name": "color-scheme", "content": "light dark"}),
        element("title", None, title),
        element("style", None, Markup(STYLE)),
    )
    body = element("body", None, element("main", None, parts))
    whole = element("html", {"lang": "en"}, element("head", None, head), body)
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; "
    return f"<!doctype html>\n{whole}\n".encode(), policy + "base-uri 'none'; form-action 'none'"


def _operation(path: str, method: str, operation: dict[str, Any], schemas: Any) -> Markup:
    rows = [
        _row(one["name"], one["schema"], one.get("description", ""), one.get("required", False))
        for one in operation.get("parameters", ())
    ]
    content = operation.get("requestBody", {}).get("content", {})
    for kind, media in content.items():
        name = media["schema"].get("$ref", "").rpartition("/")[2]
        sent = schemas.get(name, {})
        needed = sent.get("required", ())
        for field, schema in sent.get("properties", {}).items():
            rows.append(_row(field, schema, schema.get("description", ""), field in needed))
        if not sent:
            rows.append(_row("the body", {"type": kind}, "", True))
    table = element("table", None, rows) if rows else None
    return element(
        "section",
        {"id": operation["operationId"]},
        element("h3", None, _call(path, method)),
        [element("p", None, with_code(t)) for t in operation.get("description", "").split("\n\n")],
        table,
    )


def _row(name: str, schema: Any, words: str, needed: bool) -> Markup:
    kinds = [one.get("type") for one in schema.get("anyOf", [schema])]
    kind = " or ".join(kind for kind in kinds if kind and kind != "null")
    told = "needed" if needed else ""
    if not needed and schema.get("default") is not None:
        told = f"default {orjson.dumps(schema['default']).decode()}"
    values = schema.get("enum")
    if values:
        words = f"{words} One of {', '.join(map(str, values))}.".strip()
    return element(
        "tr",
        None,
        element("th", {"scope": "row"}, element("code", None, name)),
        *(element("td", None, cell) for cell in (kind, told, with_code(words))),
    )
