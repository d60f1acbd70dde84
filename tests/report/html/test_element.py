"""Text becomes markup in one place, and stays text."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.html.element import (
    as_json,
    element,
    escape,
    figure_of,
    name_of,
    page,
    percent,
    table,
)


class Reader(HTMLParser):
    """The tags, attributes and text that a browser would find."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_data(self, data):
        self.text += data


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"])))
def test_any_text_comes_back_as_that_text(text):
    found = Reader(element("p", {"title": text}, text))
    assert found.tags == ["p"]
    assert found.attributes == [{"title": text}]
    assert found.text == text


@given(st.text())
def test_no_text_ends_a_block_of_json(text):
    written = as_json({text: [text]})
    assert not {"<", ">", "&"} & set(written)
    assert json.loads(written) == {text: [text]}


def test_markup_is_not_escaped_twice_and_text_is_never_markup():
    inner = element("b", None, "<i>")
    assert element("p", None, inner, ["&", None, 3]) == "<p><b>&lt;i&gt;</b>&amp;3</p>"
    assert escape(escape("<")) == "&lt;"
    assert element("input", {"hidden": True, "disabled": False, "id": None}) == "<input hidden>"


@pytest.mark.parametrize("name", ["onclick", "on", "a b", "x=y", 'a"'])
def test_an_attribute_cannot_run_code(name):
    with pytest.raises(ValueError, match="not an attribute"):
        element("p", {name: "alert(1)"})


def test_a_tag_is_a_tag():
    with pytest.raises(ValueError, match="not a tag"):
        element("p onclick=alert(1)")


def test_figures_have_sensible_digits_and_their_exact_value():
    assert figure_of(-1234567.8, True) == '<data value="-1234567.8">−1,234,568</data>'
    assert figure_of(0.123456) == '<data value="0.123456">0.123</data>'
    assert figure_of(None) == figure_of(float("nan")) == "–"
    assert percent(0.254) == '<data value="0.254" class="share">25%</data>'


def test_names_are_whole_however_long_or_empty():
    assert Reader(name_of("A & B")).text == "A & B"
    assert Reader(name_of("")).text == "“”"
    assert Reader(name_of("  ")).text == "“  ”"
    long = Reader(name_of("x" * 500))
    assert long.tags[:2] == ["details", "summary"]
    assert long.text == "x" * 59 + "…" + "x" * 500
    assert "\x00" not in name_of("a\x00b")


def test_tables_have_headings_for_rows_and_columns():
    found = Reader(table("what", ("a", "b"), [("1", "2"), ("3", "4")]))
    scopes = [given["scope"] for given in found.attributes if "scope" in given]
    assert scopes == ["col", "col", "row", "row"]
    assert found.tags.count("td") == 2
    assert "caption" in found.tags


def test_a_page_without_charts_runs_nothing():
    written = page("title", element("h1", None, "<x>"), [], data={"a": "</script>"}).decode()
    found = Reader(written)
    policy = found.attributes[found.tags.index("meta") + 1]["content"]
    assert "default-src 'none'; script-src 'none'; style-src 'sha256-" in policy
    kinds = [
        given.get("type")
        for tag, given in zip(found.tags, found.attributes, strict=True)
        if tag == "script"
    ]
    assert kinds == ["application/json", "application/json"]
