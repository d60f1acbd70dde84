"""Named errors. Each message says what is wrong, where, and how to mend it."""

from __future__ import annotations


class EvenhandError(ValueError):
    """Something a user can mend. The command line prints it as one sentence and exits with 2."""


class UnequalLengths(EvenhandError):
    """Sequences that should describe the same steps or stakeholders differ in length."""


class NotFinite(EvenhandError):
    """A NaN or an infinity where a number is needed."""


class NegativeStatus(EvenhandError):
    """A status for which the chosen welfare function is undefined."""


class WelfareOverflow(EvenhandError):
    """A welfare too large for a float64, such as the product of many large statuses."""


class ZeroEntitlement(EvenhandError):
    """An entitlement that is not positive, so that nothing can be measured against it."""


class EmptyGroup(EvenhandError):
    """A group without members, or groups that do not fit the stakeholders."""


class WeightsDoNotFit(EvenhandError):
    """Weights of the wrong number, sign or order."""


class NothingAssessed(EvenhandError):
    """The filter never fired, so that there is no score."""


class OverridesRefused(EvenhandError):
    """A trace with overrides, scored by an aggregation that has no place for them."""


class CannotStream(EvenhandError):
    """A part of the scheme needs the whole history, so that it cannot run step by step."""


class NoLimit(EvenhandError):
    """The infinite-horizon score is not known to exist, or not to the tolerance asked for."""


class CounterfactualsRefused(EvenhandError):
    """The scheme cannot say what an imagined memory would have been paid."""


class BadParameter(EvenhandError):
    """A constructor argument outside what the definition allows."""


class UnknownName(EvenhandError):
    """A name that no registry knows; the message offers the nearest."""


class SchemeFileError(EvenhandError):
    """A scheme file that cannot be read, or a scheme that cannot be written as one."""


class UnknownEvent(EvenhandError):
    """A step whose label is not in the alphabet."""


class BadExpression(EvenhandError):
    """A regular expression over events that cannot be read."""


class NotAPartition(EvenhandError):
    """Languages of which some string belongs to none or to several; `witness` is a shortest one."""

    def __init__(
        self, message: str, *, witness: tuple[str, ...], accepted_by: tuple[int, ...]
    ) -> None:
        super().__init__(message)
        self.witness = witness
        self.accepted_by = accepted_by


class NotMarkovian(EvenhandError):
    """Two `histories` that end in the same state and memory, but not in the same status."""

    def __init__(
        self,
        message: str,
        *,
        histories: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]],
    ) -> None:
        super().__init__(message)
        self.histories = histories


class DoesNotClose(EvenhandError):
    """More states than allowed; `size` of them had been reached, and there are more."""

    def __init__(self, message: str, *, size: int) -> None:
        super().__init__(message)
        self.size = size


class NotRewardLike(EvenhandError):
    """A scheme that is not a sum of per-step rewards, where one is needed."""


class MemoryDoesNotPay(EvenhandError):
    """A memory that does not determine what is paid, where imagined memories must be paid."""


class CannotPlan(EvenhandError):
    """A problem that an exact planner cannot take on; the message says what would help."""


class TooLarge(CannotPlan):
    """A problem with more states than there is memory for."""


class CannotWrite(EvenhandError):
    """A file that cannot be written where it was asked for."""


class BadFile(EvenhandError):
    """A file that cannot be read, or is not what it should be."""


class BadLog(EvenhandError):
    """A log that cannot be judged as it is: empty, with times that are none, with no names."""


class MissingColumn(EvenhandError):
    """A column that a table does not have; the message offers the nearest."""


class BadCondition(EvenhandError):
    """A filter expression that cannot be read, or that does not fit the table's columns."""


class BadRoster(EvenhandError):
    """A roster, or a table of entitlements, that does not fit the log."""


class MissingExtra(EvenhandError):
    """A package that something needs and that is not installed; the message names the extra."""


class CannotConnect(EvenhandError):
    """A database or an engine that cannot be reached, does not let us in, or was lost."""


class CannotCarry(EvenhandError):
    """An observation space that has no place for the memory."""


class NotReset(EvenhandError):
    """A step in an environment whose episode has not begun or is over."""


class NotDiscrete(EvenhandError):
    """Actions that cannot be counted, with a learner that has a value for each."""


class NoStakeholderRewards(EvenhandError):
    """An environment that does not say what each stakeholder received."""
