"""Filter expressions such as `state <> 'Guam' and amount > 0`, read by a grammar of our own.

An expression becomes a narwhals expression and never SQL text, so it means the same on every
engine, and can neither read a file nor change anything. It knows:

    or  and  not  ( )   =  ==  <>  !=  <  <=  >  >=   in (…)   between … and …   like 'A%'
    is null   + - * / %   numbers   'text'   column   "column with spaces"   true   false
    lower(x) upper(x) trim(x) length(x) abs(x) year(x) month(x) day(x) weekday(x)
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw

from evenhand._util.moments import parse_moment
from evenhand._util.wording import nearest
from evenhand.auditing.sources.engines.engine import as_it_is
from evenhand.errors import BadCondition, argument

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
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: a % b,
}
# Each function with the kind it takes and the kind it gives.
FUNCTIONS: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
    "lower": ("text", "text", lambda x: x.str.to_lowercase()),
    "upper": ("text", "text", lambda x: x.str.to_uppercase()),
    "trim": ("text", "text", lambda x: x.str.strip_chars()),
    "length": ("text", "number", lambda x: x.str.len_chars()),
    "abs": ("number", "number", lambda x: x.abs()),
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
        self.as_moment = as_moment
        self.tokens = self._tokens()
        self.place = 0

    def whole(self) -> Term:
        term = self.either()
        if self.place < len(self.tokens):
            raise self.error(f"{self.tokens[self.place][1]!r} was not expected there")
        return self.need(term, "truth", "the whole of it")

    def either(self) -> Term:
        term = self.both()
        while self.accept("or"):
            left = self.need(term, "truth", "what stands beside 'or'")
            right = self.need(self.both(), "truth", "what stands beside 'or'")
            term = Term(left.value | right.value, "truth")
        return term

    def both(self) -> Term:
        term = self.negated()
        while self.accept("and"):
            left = self.need(term, "truth", "what stands beside 'and'")
            right = self.need(self.negated(), "truth", "what stands beside 'and'")
            term = Term(left.value & right.value, "truth")
        return term

    def negated(self) -> Term:
        if self.accept("not"):
            return Term(~self.need(self.negated(), "truth", "what follows 'not'").value, "truth")
        return self.comparison()

    def comparison(self) -> Term:
        left = self.sum()
        for sign, compare in COMPARE.items():
            if self.accept(sign):
                first, second = self.alike(left, self.sum())
                return Term(compare(first.value, second.value), "truth")
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("null")
            return Term(~left.value.is_null() if negated else left.value.is_null(), "truth")
        negated = self.accept("not")
        found = self.membership(left)
        if found is None:
            if negated:
                raise self.error("'not' there must be followed by in, between or like")
            return left
        return Term(~found if negated else found, "truth")

    def membership(self, left: Term) -> Any:
        if self.accept("in"):
            self.expect("(")
            items = [self.sum()]
            while self.accept(","):
                items.append(self.sum())
            self.expect(")")
            terms = [self.alike(left, item) for item in items]
            found = terms[0][0].value == terms[0][1].value
            for first, second in terms[1:]:
                found = found | (first.value == second.value)
            return found
        if self.accept("between"):
            first, low = self.alike(left, self.sum())
            self.expect("and")
            _, high = self.alike(left, self.sum())
            return (first.value >= low.value) & (first.value <= high.value)
        if self.accept("like"):
            pattern = self.sum()
            self.need(left, "text", "what stands before 'like'")
            if not isinstance(pattern.literal, str):
                raise self.error("'like' needs a pattern in quotes, such as 'A%'")
            wild = {"%": f"{ANY}*", "_": ANY}
            parts = (wild.get(char, re.escape(char)) for char in pattern.literal)
            return left.value.str.contains(f"^{''.join(parts)}$")
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
            term = Term(ARITHMETIC[sign](left.value, right.value), "number")
        return term

    def signed(self) -> Term:
        if self.accept("-"):
            term = self.need(self.signed(), "number", "what follows '-'")
            return Term(nw.lit(0) - term.value, "number")
        return self.single()

    def single(self) -> Term:
        if self.place >= len(self.tokens):
            raise self.error("it ends too early")
        group, token = self.tokens[self.place]
        self.place += 1
        if group == "number":
            number = float(token) if any(c in token for c in ".eE") else int(token)
            return Term(nw.lit(number), "number", number)
        if group == "text":
            text = token[1:-1].replace("''", "'")
            return Term(nw.lit(text), "text", text)
        if group == "quoted":
            return self.column(token[1:-1].replace('""', '"'))
        if token == "(":
            term = self.either()
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
            inside = self.need(self.sum(), takes, f"what {token.lower()}() takes")
            self.expect(")")
            return Term(function(inside.value), gives)
        return self.column(token)

    def column(self, name: str) -> Term:
        if name not in self.schema:
            near = nearest(name, self.known)
            hint = f"did you mean {near!r}?"
            if near is None:
                hint = f"there are {', '.join(self.known)}. Text goes in single quotes."
            what = argument(self.what)
            raise BadCondition(f"{what} names {name!r}, which is not a column: {hint}")
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
            raise self.error(f"{text!r} is not a date such as '2021-03-31'") from None
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
            f"{argument(self.what)} {self.text!r} cannot be read: {reason}. An example: "
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


def columns_of(text: str, columns: list[str]) -> list[str]:
    """The columns a condition may look at: all whose names stand in it."""
    return [name for name in columns if name in text or name.replace('"', '""') in text]
