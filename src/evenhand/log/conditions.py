"""Filter expressions such as `state <> 'Guam' and amount > 0`, read by a grammar of our own.

An expression becomes a narwhals expression and never SQL text, so it means the same on every
engine, and can neither read a file nor change anything. It knows:

    or  and  not  ( )   =  ==  <>  !=  <  <=  >  >=   in (…)   between … and …   like 'A%'
    is null   + - * / %   numbers   'text'   column   "column with spaces"   true   false
    lower(x) upper(x) trim(x) length(x) abs(x) year(x) month(x) day(x) weekday(x)

Whole numbers are compared as they are, up to 64 bits; sums and products are worked out as floats,
which do not overflow.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw

from evenhand._util.numbers import parse_moment
from evenhand._util.wording import join_names, nearest
from evenhand.errors import BadCondition, argument
from evenhand.log.engines import as_it_is

TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    | (?P<text>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<word>[^\W\d]\w*)
    | (?P<sign><=|>=|<>|!=|==|[=<>()+\-*/%,])
    )""",
    re.X,
)
# What is read of an expression, so that neither we nor an engine run out of room on the way down.
LONGEST = 100_000  # characters
LONGEST_PATTERN = 1_000  # characters after 'like'
DEEPEST = 30  # parentheses, functions and 'not' inside each other
LONGEST_CHAIN = 100  # operations inside each other, as in a sum of so many terms
MOST_OPERATIONS = 1_000  # in all; engines take a time that grows faster than their number
SHOWN = 200  # characters of an expression in an error
INT64 = range(-(1 << 63), 1 << 63)
# Any character, line ends too, in words that the expressions of all engines share; texts do not
# hold the one that is left out.
ANY = r"[^\x01]"
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "==": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: _as_float(a) + _as_float(b),
    "-": lambda a, b: _as_float(a) - _as_float(b),
    "*": lambda a, b: _as_float(a) * _as_float(b),
    "/": lambda a, b: _as_float(a) / _as_float(b),
    "%": lambda a, b: a % b,  # which Postgres has for whole numbers alone, and never overflows
}
# Each function with the kind it takes and the kind it gives.
FUNCTIONS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "lower": ("text", "text", lambda x: x.str.to_lowercase()),
    "upper": ("text", "text", lambda x: x.str.to_uppercase()),
    "trim": ("text", "text", lambda x: x.str.strip_chars()),
    "length": ("text", "number", lambda x: x.str.len_chars()),
    "abs": ("number", "number", lambda x: _as_float(x).abs()),
    "year": ("time", "number", lambda x: x.dt.year()),
    "month": ("time", "number", lambda x: x.dt.month()),
    "day": ("time", "number", lambda x: x.dt.day()),
    "weekday": ("time", "number", lambda x: x.dt.weekday()),
}


class Term(NamedTuple):
    """A part of an expression, what kind of value it has, and the value itself of a literal."""

    value: Any
    kind: str  # number, text, time, truth
    literal: Any = None
    depth: int = 1  # of operations inside each other


def parse(
    text: str,
    schema: Mapping[str, Any],
    what: str = "where",
    known: Sequence[str] = (),
    moment: Callable[[datetime.datetime], nw.Expr] = as_it_is,
) -> nw.Expr:
    """The condition that `text` says, over the columns of a table.

    `what` is the argument that gives it; `known` are all columns there are, where `schema` has only
    those that the text may mean; `moment` says a moment in the words of the table's engine.
    """
    return _Parser(text, schema, what, known or list(schema), moment).whole().value


def kind_of(dtype: Any) -> str:
    """What a column of this type can be compared with."""
    if dtype.is_numeric():
        return "number"
    if dtype.is_temporal():
        return "time"
    return "truth" if dtype == nw.Boolean else "text"


class _Parser:
    """Recursive descent: a method for each level of the grammar, the loosest first."""

    def __init__(
        self,
        text: str,
        schema: Mapping[str, Any],
        what: str,
        known: Sequence[str],
        as_moment: Callable[[datetime.datetime], nw.Expr],
    ) -> None:
        self.text, self.schema, self.what, self.known = text, schema, what, known
        self.names_column = False
        self.as_moment = as_moment
        if len(text) > LONGEST:
            raise self.error(
                f"it has {len(text):,} characters, and at most {LONGEST:,} are read (put what it "
                "says into a column of the log)"
            )
        self.tokens = self._tokens()
        self.place = self.inside = self.operations = 0

    def whole(self) -> Term:
        term = self.either()
        if self.place < len(self.tokens):
            raise self.error(f"{self.tokens[self.place][1]!r} was not expected there")
        condition = self.need(term, "truth", "the whole of it")
        if not self.names_column:
            raise self.error(
                "it names no column, and so holds of all rows or of none (a column stands without "
                "quotes or in double ones; what is in single quotes is a text)"
            )
        return condition

    def either(self) -> Term:
        return self.joined("or", operator.or_, self.both)

    def both(self) -> Term:
        return self.joined("and", operator.and_, self.negated)

    def joined(self, word: str, join: Callable[[Any, Any], Any], inner: Callable[[], Term]) -> Term:
        terms = [inner()]
        while self.accept(word):
            terms.append(inner())
        if len(terms) == 1:
            return terms[0]
        for term in terms:
            self.need(term, "truth", f"what stands beside {word!r}")
        return self.halved(join, terms)

    def halved(self, join: Callable[[Any, Any], Any], terms: Sequence[Term]) -> Term:
        """Many conditions joined by halves, so that few of them lie inside each other."""
        if len(terms) == 1:
            return terms[0]
        half = len(terms) // 2
        left, right = self.halved(join, terms[:half]), self.halved(join, terms[half:])
        return self.made(join(left.value, right.value), "truth", left, right)

    def negated(self) -> Term:
        if self.accept("not"):
            term = self.need(self.deeper(self.negated), "truth", "what follows 'not'")
            return self.made(~term.value, "truth", term)
        return self.comparison()

    def comparison(self) -> Term:
        left = self.sum()
        for sign, compare in COMPARE.items():
            if self.accept(sign):
                first, second = self.alike(left, self.sum())
                return self.made(compare(first.value, second.value), "truth", first, second)
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("null")
            empty = left.value.is_null()
            return self.made(~empty if negated else empty, "truth", left)
        negated = self.accept("not")
        found = self.membership(left)
        if found is None:
            if negated:
                raise self.error("'not' there must be followed by in, between or like")
            return left
        return self.made(~found.value, "truth", found) if negated else found

    def membership(self, left: Term) -> Term | None:
        if self.accept("in"):
            self.expect("(")
            items = [self.sum()]
            while self.accept(","):
                items.append(self.sum())
            self.expect(")")
            pairs = [self.alike(left, item) for item in items]
            values = [item.literal for _, item in pairs]
            if None not in values:  # a list of numbers or texts, which may be long
                return self.made(left.value.is_in(values), "truth", left)
            same = [self.made(a.value == b.value, "truth", a, b) for a, b in pairs]
            return self.halved(operator.or_, same)
        if self.accept("between"):
            first, low = self.alike(left, self.sum())
            self.expect("and")
            _, high = self.alike(left, self.sum())
            within = (first.value >= low.value) & (first.value <= high.value)
            return self.made(within, "truth", first, low, high)
        if self.accept("like"):
            pattern = self.sum()
            self.need(left, "text", "what stands before 'like'")
            if not isinstance(pattern.literal, str):
                raise self.error("'like' needs a pattern in quotes, such as 'A%'")
            if len(pattern.literal) > LONGEST_PATTERN:
                raise self.error(f"the pattern after 'like' is longer than {LONGEST_PATTERN:,}")
            wild = {"%": f"{ANY}*", "_": ANY}
            pieces = re.sub("%+", "%", pattern.literal)  # many at once only take longer
            parts = (wild.get(char, re.escape(char)) for char in pieces)
            return self.made(left.value.str.contains(f"^{''.join(parts)}$"), "truth", left)
        return None

    def sum(self) -> Term:
        return self.chain(("+", "-"), self.product)

    def product(self) -> Term:
        return self.chain(("*", "/", "%"), self.signed)

    def chain(self, signs: tuple[str, ...], inner: Callable[[], Term]) -> Term:
        term = inner()
        while sign := next((s for s in signs if self.accept(s)), None):
            left = self.need(term, "number", f"what stands before {sign!r}")
            right = self.need(inner(), "number", f"what stands after {sign!r}")
            term = self.made(ARITHMETIC[sign](left.value, right.value), "number", left, right)
        return term

    def signed(self) -> Term:
        if self.accept("-"):
            if self.place < len(self.tokens) and self.tokens[self.place][0] == "number":
                self.place += 1
                return self.number("-" + self.tokens[self.place - 1][1])
            term = self.need(self.deeper(self.signed), "number", "what follows '-'")
            return self.made(nw.lit(0.0) - _as_float(term.value), "number", term)
        return self.single()

    def number(self, token: str) -> Term:
        if any(c in token for c in ".eE"):
            number: int | float = float(token)
        elif len(token) > 20 or int(token) not in INT64:
            short = token if len(token) <= 30 else f"{token[:12]}…"
            raise self.error(
                f"{short} is a whole number of more than 64 bits (write it as a float such as 1e20)"
            )
        else:
            number = int(token)
        if not math.isfinite(number):
            raise self.error(f"{token} is too large for a number")
        return Term(nw.lit(number), "number", number)

    def made(self, value: Any, kind: str, *parts: Term) -> Term:
        """A term made of others, if not too many of them lie inside each other."""
        self.operations += 1
        if self.operations > MOST_OPERATIONS:
            raise self.error(
                f"it has more than {MOST_OPERATIONS:,} operations (many values of one column are a "
                "list: region in ('North', 'East'))"
            )
        depth = 1 + max(part.depth for part in parts)
        if depth > LONGEST_CHAIN:
            raise self.error(
                f"more than {LONGEST_CHAIN} operations lie inside each other (put some of it into "
                "a column of the log)"
            )
        return Term(value, kind, depth=depth)

    def deeper(self, inner: Callable[[], Term]) -> Term:
        """A part inside another part."""
        self.inside += 1
        if self.inside > DEEPEST:
            raise self.error(
                f"more than {DEEPEST} parentheses, functions or signs lie inside each other (take "
                "out those that are not needed)"
            )
        term = inner()
        self.inside -= 1
        return term

    def single(self) -> Term:
        if self.place >= len(self.tokens):
            raise self.error("it ends too early")
        group, token = self.tokens[self.place]
        self.place += 1
        if group == "number":
            return self.number(token)
        if group == "text":
            text = token[1:-1].replace("''", "'")
            return Term(nw.lit(text), "text", text)
        if group == "quoted":
            return self.column(token[1:-1].replace('""', '"'))
        if token == "(":
            term = self.deeper(self.either)
            self.expect(")")
            return term
        if group == "word":
            return self.word(token)
        raise self.error(f"{token!r} was not expected there")

    def word(self, token: str) -> Term:
        if token.lower() in ("true", "false"):
            return Term(nw.lit(token.lower() == "true"), "truth")
        if self.accept("("):
            if token.lower() not in FUNCTIONS:
                known = ", ".join(FUNCTIONS)
                raise self.error(f"there is no function {token!r} (there are {known})")
            takes, gives, function = FUNCTIONS[token.lower()]
            inside = self.need(self.deeper(self.sum), takes, f"what {token.lower()}() takes")
            self.expect(")")
            return self.made(function(inside.value), gives, inside)
        return self.column(token)

    def column(self, name: str) -> Term:
        if name not in self.schema:
            near = nearest(name, self.known)
            hint = f"did you mean {near!r}?"
            if near is None:
                hint = f"there are {join_names(self.known, 12)}. Text goes in single quotes."
            what = argument(self.what)
            raise BadCondition(f"{what} names {_shown(name)}, which is not a column: {hint}")
        self.names_column = True
        return Term(nw.col(name), kind_of(self.schema[name]))

    def alike(self, left: Term, right: Term) -> tuple[Term, Term]:
        """Two terms that can be compared; a date in quotes becomes one beside a time."""
        if left.kind == "time" and isinstance(right.literal, str):
            right = self.moment(right.literal)
        elif right.kind == "time" and isinstance(left.literal, str):
            left = self.moment(left.literal)
        if left.kind != right.kind:
            hint = "write text in single quotes and numbers without"
            raise self.error(f"a {left.kind} is compared with a {right.kind} ({hint})")
        return left, right

    def moment(self, text: str) -> Term:
        try:
            value = parse_moment(text)
        except ValueError:
            raise self.error(f"{_shown(text)} is not a date such as '2021-03-31'") from None
        return Term(self.as_moment(value), "time")

    def need(self, term: Term, kind: str, where: str) -> Term:
        if term.kind != kind:
            words = {"truth": "a condition that is true or false"}
            raise self.error(f"{where} must be {words.get(kind, f'a {kind}')}, not a {term.kind}")
        return term

    def accept(self, token: str) -> bool:
        if self.place >= len(self.tokens):
            return False
        group, found = self.tokens[self.place]
        if group not in ("word", "sign") or found.lower() != token:
            return False
        self.place += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.error(f"{token!r} is missing")

    def error(self, reason: str) -> BadCondition:
        return BadCondition(
            f"{argument(self.what)} {_shown(self.text)} cannot be read: {reason}. An example: "
            "region = 'North' and amount > 0."
        )

    def _tokens(self) -> list[tuple[str, str]]:
        found, place, text = [], 0, self.text.rstrip()
        while place < len(text):
            match = TOKEN.match(text, place)
            if match is None:
                raise self.error(f"{text[place:].strip()[:10]!r} makes no sense there")
            group = str(match.lastgroup)
            found.append((group, match.group(group)))
            place = match.end()
        return found


def _as_float(number: Any) -> Any:
    """A number in which sums and products do not overflow."""
    return number.cast(nw.Float64)


def _shown(text: str) -> str:
    """A text in quotes, without its middle where it is very long."""
    half = SHOWN // 2
    return repr(text if len(text) <= SHOWN else f"{text[:half]}…{text[-half:]}")


def columns_of(text: str, columns: list[str]) -> list[str]:
    """The columns a condition may look at: all whose names stand in it."""
    return [name for name in columns if name in text or name.replace('"', '""') in text]
