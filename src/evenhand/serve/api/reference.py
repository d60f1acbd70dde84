"""The OpenAPI description, and a page of it that needs nothing from the network."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from evenhand.serve.api.models import ProblemShown

OPEN_TO_ALL = ("/health",)


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
