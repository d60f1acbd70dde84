"""What a value had to be, in a sentence: pydantic's findings about options and about requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMS: Mapping[str, str] = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    "int_parsing_size": "a whole number of fewer digits",
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
    "list_type": "a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "an object of fields"),
    "greater_than": "more than {gt:,}",
    "greater_than_equal": "at least {ge:,}",
    "less_than": "less than {lt:,}",
    "less_than_equal": "at most {le:,}",
    "string_too_short": "{min_length:,} or more characters long",
    "string_too_long": "{max_length:,} or fewer characters long",
    "too_short": "{min_length:,} or more items long",
    "too_long": "{max_length:,} or fewer items long",
    **dict.fromkeys(("literal_error", "enum"), "{expected}"),
}


def expected_form(finding: Mapping[str, Any]) -> str | None:
    """What is to stand after "it must be", of one of `ValidationError.errors()`, where that is
    plain.

    >>> expected_form({"type": "greater_than_equal", "ctx": {"ge": 100}})
    'at least 100'
    """
    form = FORMS.get(finding["type"])
    bounds = {
        name: int(bound) if isinstance(bound, float) and bound.is_integer() else bound
        for name, bound in finding.get("ctx", {}).items()
    }
    return None if form is None else form.format(**bounds)
