"""Section 3: the fairness scheme ⟨U, W_ex, B⟩; periodic, long-term and anytime; and its file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import tomli_w

from evenhand._util.checks import require_kind
from evenhand._util.files import read_file
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand._util.registry import Registry
from evenhand.errors import (
    BadFile,
    BadParameter,
    CannotStream,
    CounterfactualsRefused,
    EvenhandError,
    MissingPartParameter,
    NothingAssessed,
    SchemeFileError,
)
from evenhand.fairness.aggregation import AGGREGATIONS, Aggregation, TimepointFirst
from evenhand.fairness.filters import FILTERS, Always, Every, Filter, Final
from evenhand.fairness.groups import Groups, Labels, refine
from evenhand.fairness.status import STATUSES, Returns, Status
from evenhand.fairness.stream import Stream
from evenhand.fairness.temporal import TEMPORALS, Last, Mean, Temporal, Total
from evenhand.fairness.trace import Override, Trace, scaled
from evenhand.fairness.unfairness import Assessment, assess
from evenhand.fairness.welfare import WELFARES, LogNash, Welfare

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float


# Section 3: the fairness scheme ⟨U, W_ex, B⟩; periodic, long-term and anytime fairness.

# Section 4.1: a fairness scheme ⟨U, W_ex, B⟩, one object with four uses.
#
# It scores a history, watches a stream, rewards a learner, and is the objective of an exact
# planner.


@dataclass(frozen=True)
class FairnessScheme:
    """Definition "fairness scheme": ⟨status U, aggregation W_ex, filter B⟩.

    Args:
        status: How well each stakeholder is doing at the end of a trace.
        aggregation: One number for the statuses at the assessed time points.
        filter: The time points that are assessed.
        empty: The score of a trace in which nothing was assessed; without it that is an error.

    >>> from evenhand import LogNash
    >>> scheme = FairnessScheme(Returns(), TimepointFirst(LogNash(), Total()))
    >>> round(scheme.score(Trace(rewards=[[1, 0], [0, 1]])), 6)  # ln 2 + 2 ln 2
    2.079442
    """

    status: Status = Returns()
    aggregation: Aggregation = TimepointFirst()
    filter: Filter = Always()
    empty: float | None = None

    def __post_init__(self) -> None:
        for value, kind, what in (
            (self.status, Status, "status"),
            (self.aggregation, Aggregation, "aggregation"),
            (self.filter, Filter, "filter"),
        ):
            if not isinstance(value, kind):
                raise BadParameter(
                    f"{what} must be a {kind.__name__}, not {value!r}: see `evenhand list`, or "
                    "wrap a function (TraceFunction, MatrixFunction, When)."
                )
        if self.empty is not None:
            object.__setattr__(self, "empty", float(as_float64(self.empty, "empty")))

    @property
    def welfare(self) -> Welfare | None:
        """W, where the aggregation is timepoint-first."""
        return getattr(self.aggregation, "welfare", None)

    @property
    def temporal(self) -> Temporal | None:
        """W_temporal, where the aggregation is timepoint-first."""
        return getattr(self.aggregation, "temporal", None)

    def score(self, trace: Trace) -> float:
        """Definition "fairness score of a trace": W_ex of the statuses that pass the filter."""
        _require_trace(trace)
        stream = Stream(self, trace.num_stakeholders)
        stream.extend(trace)
        return stream.score

    def assess(self, trace: Trace) -> Assessment:
        """The score with its reasons: statuses, assessed times, and unfairness to each."""
        _require_trace(trace)
        return assess(self, trace)

    def stream(self, num_stakeholders: int) -> Stream:
        """A running score that takes one step at a time."""
        for part in (self.status, self.filter, self.aggregation):
            if part.keeps_history:
                raise CannotStream(
                    f"{type(part).__name__} needs the whole history, so the scheme cannot run "
                    "step by step: score finished traces, or write that part as a fold."
                )
        return Stream(self, num_stakeholders)

    def contributions(
        self,
        statuses: Float[Array, "*batch time status"],
        weights: Float[np.ndarray, "time status"] | None = None,
        present: Bool[np.ndarray, "time status"] | None = None,
        override: Override | None = None,
    ) -> Float[Array, "*batch time ..."]:
        """What an assessment at each time point adds to the score.

        Args:
            statuses: On NumPy or on JAX arrays, of one history or of many.
            weights: As how many each counts, up to scale; without them all count alike.
            present: Who is there to be judged; without it everyone is.
            override: What stands in for the welfare at some time points, everyone being there.

        >>> import numpy as np
        >>> from evenhand import Rawls, anytime
        >>> statuses = np.array([[4.0, 0.0], [4.0, 2.0]])
        >>> anytime(Rawls()).contributions(statuses)
        array([0., 2.])
        >>> anytime(Rawls()).contributions(statuses, present=np.array([[1, 0], [1, 1]], dtype=bool))
        array([4., 2.])
        """
        return self.aggregation.contributions(statuses, weights, present, override)

    def contribution(
        self, vector: Float[Array, "*batch status"], override: Override | None = None
    ) -> Float[Array, "*batch ..."]:
        """What an assessment of these statuses adds, where their weights never change."""
        weights = self.status.fixed_weights
        if weights is not None:
            weights = namespace(vector).asarray(scaled(weights), dtype=vector.dtype)
        return self.aggregation.contribute(vector, override, weights)

    def require_counterfactuals(self) -> None:
        """A known scheme can say what reward an imagined memory would have had."""

    def exchangeable(self, size: int) -> Labels:
        """A label for each stakeholder, equal for those that the scheme treats alike."""
        parts = [self.status.exchangeable(size), self.filter.exchangeable(size)]
        # Where groups are judged the welfare sees totals, in which members of a group cannot
        # differ.
        if self.status.per_stakeholder:
            parts.append(self.aggregation.exchangeable(size))
        return refine(parts, size)

    def describe(self) -> str:
        """The scheme in plain words."""
        by = self.status.weighed_by
        weighed = "" if by is None else f"In the mean and in fairness it counts by {by}. "
        words = (
            f"Each stakeholder's status is {self.status.describe()}. {weighed}"
            f"Fairness is assessed {self.filter.describe()}. {self.aggregation.describe()}"
        )
        if self.empty is not None:
            words += f" Where nothing is assessed the score is {self.empty:g}."
        return words


@dataclass(frozen=True)
class FeedbackScheme:
    """Section 4.1: scores that come only as feedback from the environment, the scheme unknown.

    Each step of the trace carries its `feedback`. That is enough to score and to learn from; it is
    not enough to imagine other memories, because nobody can say what reward they would have had.
    """

    temporal: Temporal = Total()

    def __post_init__(self) -> None:
        require_kind(self.temporal, Temporal, "temporal", "Total()")

    def score(self, trace: Trace) -> float:
        _require_trace(trace)
        if trace.feedback is None:
            raise BadParameter("the trace carries no feedback: build it with feedback=[…].")
        if len(trace) == 0:
            if self.temporal.empty is None:
                raise NothingAssessed("the trace has no steps, so there is no feedback to score.")
            return self.temporal.empty
        return float(
            self.temporal.value(self.temporal.extend(self.temporal.init(), trace.feedback))
        )

    def require_counterfactuals(self) -> None:
        raise CounterfactualsRefused(
            "the scheme is a black box: it says the reward of this history, not of another "
            "memory. Learn without counterfactuals, or state the scheme."
        )

    def describe(self) -> str:
        return f"The environment scores each step in a way not known; {self.temporal.describe()}."


def _require_trace(trace: Any) -> None:
    require_kind(trace, Trace, "trace", "Trace(rewards=[[1, 0], [0, 1]])")


# Definitions 4.1 to 4.4: long-term, periodic, anytime and bounded fairness.
#
# Four schemes by their names in the paper. They differ in when fairness is assessed.


def long_term(welfare: Welfare = LogNash(), status: Status = Returns()) -> FairnessScheme:
    """Definition "long-term fairness": W(U(τ_T)), the end alone.

    Args:
        welfare: One number for the statuses of all stakeholders.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, Last()), Final())


def periodic(
    period: int,
    welfare: Welfare = LogNash(),
    temporal: Temporal = Mean(),
    status: Status = Returns(),
) -> FairnessScheme:
    """Definition "periodic fairness": assessed at p, 2p, …, ⌊T/p⌋·p.

    Args:
        period: The number p of decisions from one assessment to the next.
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all assessments.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), Every(period))


def anytime(
    welfare: Welfare = LogNash(), temporal: Temporal = Mean(), status: Status = Returns()
) -> FairnessScheme:
    """Definition "anytime fairness": assessed at every time point, period 1.

    Args:
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all time points.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), Always())


def bounded(
    filter: Filter,
    welfare: Welfare = LogNash(),
    temporal: Temporal = Mean(),
    status: Status = Returns(),
) -> FairnessScheme:
    """Definition "bounded fairness": assessed wherever the filter says so.

    Args:
        filter: The time points that are assessed, such as `AfterEach(100)` or `When(predicate)`.
        welfare: One number for the statuses of all stakeholders.
        temporal: One number for the welfare at all assessments.
        status: How well each stakeholder is doing.
    """
    return FairnessScheme(status, TimepointFirst(welfare, temporal), filter)


# A scheme as a small TOML table, so that it can be written without Python.
#
#     welfare = "rawls"
#     temporal = "mean"
#     filter = { name = "every", period = 12 }
#
#     [status]
#     name = "per_entitlement"
#     entitlements = [39.5, 5.8, 0.6]
#
# A part is a name, or a table of its name and parameters; what is left out has its default. An
# aggregation that is not timepoint-first stands in place of `welfare` and `temporal`.

# Which registry the value of a key belongs to, at the top and inside the parts.
PARTS: dict[str, Registry] = {
    "status": STATUSES,
    "counted": STATUSES,
    "welfare": WELFARES,
    "temporal": TEMPORALS,
    "aggregation": AGGREGATIONS,
    "filter": FILTERS,
}
DEEPEST = 20  # tables and lists inside each other
INT64 = range(-(1 << 63), 1 << 63)  # whole numbers as TOML has them
MAX_BYTES = 16 << 20  # of a scheme file: one with an entitlement for each of a million
TOP_LEVEL = ("status", "welfare", "temporal", "aggregation", "filter", "empty")


def to_toml(scheme: FairnessScheme) -> str:
    """The scheme as TOML text; parts that are Python functions cannot be written."""
    table: dict[str, Any] = {"status": to_table(scheme.status, STATUSES)}
    if isinstance(scheme.aggregation, TimepointFirst):
        table["welfare"] = to_table(scheme.aggregation.welfare, WELFARES)
        table["temporal"] = to_table(scheme.aggregation.temporal, TEMPORALS)
    else:
        table["aggregation"] = to_table(scheme.aggregation, AGGREGATIONS)
    table["filter"] = to_table(scheme.filter, FILTERS)
    if scheme.empty is not None:
        table["empty"] = scheme.empty
    return tomli_w.dumps(table)


def read_scheme_file(path: str | os.PathLike[str]) -> FairnessScheme:
    """A scheme from a scheme file, which is named in whatever is said about it."""
    try:
        text = read_file(path, MAX_BYTES, "a scheme file").decode()
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BadFile(
            f"{path} cannot be read: line {line:,} is not UTF-8 text; save the file as UTF-8."
        ) from None
    try:
        return from_toml(text)
    except EvenhandError as error:
        raise SchemeFileError(f"{path}: {error}") from None


def from_toml(text: str) -> FairnessScheme:
    """A scheme from TOML text."""
    table = _read_toml(text)
    for key in table:
        if key not in TOP_LEVEL:
            raise SchemeFileError(f"a scheme has no part {key!r}: it has {', '.join(TOP_LEVEL)}.")
    if "aggregation" in table and ("welfare" in table or "temporal" in table):
        raise SchemeFileError(
            "a scheme has either an aggregation, or a welfare and a temporal, not both."
        )
    parts = {
        key: from_table(value, PARTS[key], key) for key, value in table.items() if key in PARTS
    }
    timepoint = {key: parts.pop(key) for key in ("welfare", "temporal") if key in parts}
    if timepoint:
        parts["aggregation"] = TimepointFirst(**timepoint)
    empty = table.get("empty")
    if not isinstance(empty, int | float | None) or isinstance(empty, bool):
        raise SchemeFileError(f"empty is {empty!r}: it must be a number.")
    return FairnessScheme(**parts, empty=empty)


def _read_toml(text: str) -> dict[str, Any]:
    """What TOML text says, if its nesting and its numbers are such as a scheme may have."""
    import tomllib  # only for those who have a file

    try:
        # A key of thousands of parts, such as a.b.c…, takes the reader minutes.
        if any(key.count(".") > DEEPEST for line in text.splitlines() for key in _keys(line)):
            raise RecursionError
        table = tomllib.loads(text)
        _require_numbers(table)
    except RecursionError:
        raise SchemeFileError(
            f"the scheme has more than {DEEPEST} tables or lists inside each other: a part is a "
            "name, or a table of its name and parameters."
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise SchemeFileError(f"the scheme is not valid TOML: {error}.") from None
    except ValueError:  # of a number with more digits than Python reads
        raise _too_large() from None
    return table


def _keys(line: str) -> list[str]:
    """The parts of a line that may be keys: what stands between brackets, signs and commas."""
    return [] if line.lstrip().startswith("#") else re.split(r"[^\w \t.\"'-]", line)


def _require_numbers(value: Any, depth: int = 0) -> None:
    if depth > DEEPEST:
        raise RecursionError
    if isinstance(value, int) and value not in INT64:
        raise _too_large()
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _require_numbers(inner, depth + 1)


def _too_large() -> SchemeFileError:
    return SchemeFileError(
        "the scheme holds a whole number of more than 64 bits: make it smaller, or write it as a "
        "float such as 1e20."
    )


def to_table(part: Any, registry: Registry) -> Any:
    """A registered part as its name, or as a table of its name and what is not default."""
    name = registry.name_of(part)
    if name is None:
        raise SchemeFileError(
            f"{type(part).__name__} is Python code and has no name to write to a file: use a named "
            f"{registry.kind} ({', '.join(registry.classes)}), or register it under a name."
        )
    parameters = {}
    for spec in _parameters(type(part)).values():
        value = getattr(part, spec.name)
        if spec.default is MISSING or value != spec.default:
            parameters[spec.name] = _to_value(value, _registry_of(spec.name, registry))
    return {"name": name, **parameters} if parameters else name


def _registry_of(parameter: str, own: Registry) -> Registry | None:
    """Where the value of a parameter is looked up: what a part is `of` is of its own kind."""
    return own if parameter == "of" else PARTS.get(parameter)


def _to_value(value: Any, registry: Registry | None) -> Any:
    if registry is not None:
        return to_table(value, registry)
    if isinstance(value, Groups):
        return {n: list(part) for n, part in zip(value.names, value.members, strict=True)}
    return [_to_value(item, None) for item in value] if isinstance(value, tuple) else value


def _from_value(value: Any) -> Any:
    """A list as the tuple it was: parts are frozen, and must be hashable to be compiled."""
    return tuple(_from_value(item) for item in value) if isinstance(value, list) else value


def _parameters(cls: type) -> dict[str, Field[Any]]:
    """The constructor arguments of a part: the fields of a dataclass."""
    if not is_dataclass(cls):
        raise SchemeFileError(
            f"{cls.__name__} is not a dataclass, so its parameters are not known: make it a frozen "
            "dataclass to name it in a file."
        )
    return {spec.name: spec for spec in fields(cls) if spec.init}


def _needed(spec: Field[Any]) -> bool:
    return spec.default is MISSING and spec.default_factory is MISSING


def from_table(value: Any, registry: Registry, key: str) -> Any:
    """A part from its name or table; `key` is what the part is called in an error."""
    if isinstance(value, str):
        value = {"name": value}
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise SchemeFileError(f"{key} must be a name, or a table with a name and its parameters.")
    cls = registry.get(value["name"])
    known = _parameters(cls)
    parameters = {}
    for parameter, given in value.items():
        if parameter == "name":
            continue
        if parameter not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise SchemeFileError(f"{value['name']} has no parameter {parameter!r}: {takes}.")
        inner = _registry_of(parameter, registry)
        parameters[parameter] = (
            _from_value(given) if inner is None else from_table(given, inner, parameter)
        )
    missing = [name for name, spec in known.items() if _needed(spec) and name not in parameters]
    if missing:
        raise MissingPartParameter(value["name"], missing[0], key)
    try:
        return cls(**parameters)
    except EvenhandError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise SchemeFileError(
            f"{key} {value['name']!r} cannot be made from {parameters}: {error}."
        ) from None
