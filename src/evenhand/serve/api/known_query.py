"""Routes that refuse a query they do not know: a mistyped parameter would be left out silently."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from evenhand._util.wording import nearest, short_repr
from evenhand.errors import BadParameter


class KnownQuery(APIRoute):
    """A route whose query may have what its function takes, and nothing else."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()
        known = _names(self.dependant)

        async def checked(request: Request) -> Response:
            for name in request.query_params if request.scope["query_string"] else ():
                if name not in known:
                    meant = nearest(name, known)
                    fix = f"did you mean {meant!r}?" if meant else "see /docs for what there is."
                    raise BadParameter(f"{short_repr(name)} is not known here: {fix}")
            return await answer(request)

        return checked


def _names(function: Dependant) -> set[str]:
    """Of the parameters of a function and of those that it depends on."""
    own = {field.alias for field in function.query_params}
    return own.union(*(_names(one) for one in function.dependencies))
