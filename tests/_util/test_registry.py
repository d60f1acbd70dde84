"""Names of classes: each kind's own, and a user's."""

from __future__ import annotations

import pytest

from evenhand._util.registry import Registry
from evenhand.errors import BadParameter, UnknownName


class Red:
    """A colour.

    Of tomatoes.
    """


class Blue:
    """Another."""


def test_a_class_is_registered_by_a_call_or_as_a_decorator():
    colours = Registry("colour", {"red": Red})
    assert colours.register("blue", Blue) is Blue

    @colours.register("green")
    class Green:
        """A third."""

    assert list(colours.classes) == ["red", "blue", "green"]
    assert colours.get("green") is Green
    assert colours.name_of(Blue()) == "blue"
    assert colours.lines() == {"red": "A colour.", "blue": "Another.", "green": "A third."}


def test_a_class_that_is_not_registered_has_no_name():
    class DarkRed(Red):
        """Not the same class as the one it derives from."""

    assert Registry("colour", {"red": Red}).name_of(DarkRed()) is None


def test_a_name_that_is_taken_is_refused():
    colours = Registry("colour", {"red": Red})
    with pytest.raises(BadParameter, match=r"'red' is registered already, as Red of .*: choose"):
        colours.register("red", Blue)
    assert colours.get("red") is Red
    colours.register("red", Red)  # as when a notebook cell is run again


def test_an_unknown_name_is_refused_with_the_nearest():
    colours = Registry("colour", {"red": Red, "blue": Blue})
    with pytest.raises(UnknownName, match="no colour called 'blu': did you mean 'blue'"):
        colours.get("blu")
    with pytest.raises(UnknownName, match="no colour called 'xyz': there are red, blue"):
        colours.get("xyz")
