"""Section 3: the fairness scheme ⟨U, W_ex, B⟩; periodic, long-term and anytime fairness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand._util.checks import require_kind
from evenhand._util.numbers import Array, as_float64, namespace
from evenhand.errors import BadParameter, CannotStream, CounterfactualsRefused, NothingAssessed
from evenhand.fairness.aggregation import Aggregation, TimepointFirst
from evenhand.fairness.filters import Always, Every, Filter, Final
from evenhand.fairness.groups import Labels, refine
from evenhand.fairness.status import Returns, Status
from evenhand.fairness.stream import Stream
from evenhand.fairness.temporal import Last, Mean, Temporal, Total
from evenhand.fairness.trace import Override, Trace, scaled
from evenhand.fairness.unfairness import Assessment, assess
from evenhand.fairness.welfare import LogNash, Welfare

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Bool, Float


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
