"""Parts of what is compiled must be hashable: equal ones share what was compiled."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from evenhand.errors import BadParameter


def require_hashable(whole: Any) -> None:
    """Refuse a dataclass with a part that cannot be hashed."""
    for part in fields(whole):
        value = getattr(whole, part.name)
        try:
            hash(value)
        except TypeError as error:
            raise BadParameter(
                f"{part.name} ({type(value).__name__}) cannot be hashed ({error}): make its class "
                "a frozen dataclass, with tuples in place of lists."
            ) from None
