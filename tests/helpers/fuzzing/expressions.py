"""Conditions for `--where` and `--when`: built by their grammar, deep, and damaged."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzzing.damage import HUGE_TEXTS, places

GOOD = ["much > 0", "who = 'A'", "team != 'red'", "who in ('A', 'B')", "not who = 'C'"]
VALUES = [
    *(
        "1",
        "0",
        "-1",
        "2.5",
        "1e3",
        "'A'",
        "'red'",
        "''",
        "'it''s'",
        "null",
        "true",
        "'2021-02-01'",
    ),
    *("9" * 20, "9" * 5000, "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("1e308", "1e400", "0.1e-400", "nan", "inf", "'infinity'", "'-infinity'", "'290000-01-01'"),
    *("'" + "x" * 5000 + "'", "'\0'", "'\\'", '"who"', "who", "day", "much", "٣", "0x10", "1_000"),
]
FIELDS = [
    *["who", "day", "much", "team", "need"] * 4,
    '"who"',
    "nobody",
    "WHO",
    "[who]",
    "1",
    "'A'",
    "",
]
COMPARED = [
    *["=", "<", ">", "!="] * 4,
    "=",
    "!=",
    "<>",
    "<",
    ">",
    "<=",
    ">=",
    "==",
    "~",
    "like",
    "in",
    "is",
    "is not",
    "not in",
]
FORBIDDEN = [
    *("much > 99999999999999999999", "much = 9223372036854775808", "need < -9223372036854775809"),
    *("much in (9223372036854775808, 1)", "day > 9223372036854775808", "who > 1"),
    *("1; drop table log", "who = 'A' --", "/* x */ who = 'A'", "(select 1) = 1", "sum(much) > 1"),
    *(
        "read_text('/etc/hostname') = 'x'",
        "sqrt(-1) > 0",
        "cast(who as integer) > 1",
        "much / 0 > 1",
    ),
    *("much * 9223372036854775807 > 1", "much + 9223372036854775807 > 1", "who in (select 1)"),
]


@st.composite
def _comparison(draw: st.DrawFn) -> str:
    field, how = draw(st.sampled_from(FIELDS)), draw(st.sampled_from(COMPARED))
    value = draw(st.sampled_from(VALUES))
    if how in ("in", "not in"):
        some = draw(st.lists(st.sampled_from(VALUES), max_size=3))
        return f"{field} {how} ({', '.join(some)})"
    return f"{field} {how} {value}"


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or ", " AND ", ", "]), inner).map("".join),
        inner.map(lambda text: f"not {text}"),
        inner.map(lambda text: f"({text})"),
    )


@st.composite
def _damaged(draw: st.DrawFn) -> str:
    text = draw(st.recursive(_comparison(), _joined, max_leaves=4))
    k = int(draw(places) * len(text))
    odd = st.sampled_from(["'", '"', "(", ")", "\0", "\udcff", ";", "not ", " and ", "", "\n", "é"])
    return text[:k] + draw(odd) + text[k + draw(st.integers(0, 3)) :]


def _deep(text: str) -> list[str]:
    many = 3000
    return [
        f"{'(' * many}{text}{')' * many}",
        f"{'not ' * many}{text}",
        " and ".join([text] * many),
        " or ".join([text] * many),
        f"who in ({', '.join(['1'] * many)})",
    ]


expressions = st.one_of(
    st.sampled_from(GOOD),
    st.recursive(_comparison(), _joined, max_leaves=6),
    _comparison(),
    _damaged(),
    st.sampled_from(FORBIDDEN),
    st.sampled_from([*_deep("much > 0"), *_deep("who = 'A'"), *HUGE_TEXTS, ""]),
)
