"""Section 6.2 (simulated lending): one loan per step, to someone who may not have applied."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from evenhand._util.numbers import as_float64
from evenhand.envs.environment import (
    BestRecipe,
    Environment,
    LearningNumbers,
    Outcomes,
    OutcomesNotFinite,
    PaperRecipe,
    Recipe,
    State,
    one_each,
    require_count,
    served_or_not,
    subsets,
)
from evenhand.errors import BadParameter
from evenhand.fairness.groups import Groups, Labels, by_value, refine
from evenhand.fairness.scheme import FairnessScheme, anytime
from evenhand.fairness.status import GroupTotals
from evenhand.fairness.temporal import Total
from evenhand.fairness.trace import Override
from evenhand.fairness.welfare import Parity
from evenhand.memory.memory import Attribute, GroupDifference, GroupFull, Memory, Nothing
from evenhand.problem.problem import ENVIRONMENTS

if TYPE_CHECKING:
    from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

ROUNDING = 1e-9  # 0.07 · 100 is a little more than 7 in floating point: 7 does not fall short of it


class Ledger(NamedTuple):
    """Credit as whole levels above the lowest score, profit as loans repaid minus defaulted.

    Whole numbers, so that nothing drifts and equal worlds are equal.
    """

    level: Int[Array, " applicant"]
    net: Int[Array, ""]
    time: Int[Array, ""]


class GaussianLedger(NamedTuple):
    """The same with credit scores that are any number in the range."""

    score: Float[Array, " applicant"]
    net: Int[Array, ""]
    time: Int[Array, ""]


AnyLedger = TypeVar("AnyLedger", Ledger, GaussianLedger)


@dataclass(frozen=True)
class Bank(Environment[AnyLedger, jax.Array]):
    """Section 6.2: what both forms of lending share. Stakeholders are the applicants.

    A loan to someone who applied counts for them; groups are the scheme's and the memory's matter.
    It is repaid with probability equal to the credit score before it: profit ±`repayment`. A loan
    to someone who did not apply changes nothing and has the reward −`wrong_loan` · T; a profit
    below `profit_margin` · T after the last step has the reward −`missed_profit` · T, which takes
    precedence.
    """

    start_credit: tuple[float, ...] = (0.5, 0.5, 0.9, 0.9)
    groups: Groups = Groups(("A", "B"), ((0, 1), (2, 3)))
    applying: float | tuple[float, ...] = 0.9
    repayment: float = 1.0
    credit_range: tuple[float, float] = (0.2, 0.9)
    horizon: int = 40
    profit_margin: float = 0.1
    wrong_loan: float = 1.0
    missed_profit: float = 10.0

    def __post_init__(self) -> None:
        require_count(self.horizon, "horizon")
        if not (self.repayment > 0 and math.isfinite(self.repayment)):
            raise BadParameter(f"repayment is {self.repayment}: it must be a positive number.")
        as_float64(
            [self.profit_margin, self.wrong_loan, self.missed_profit], "margin and penalties"
        )
        low, high = (float(bound) for bound in self.credit_range)
        if not 0.0 <= low < high <= 1.0:
            raise BadParameter(
                f"credit_range is {self.credit_range}: scores are probabilities, the lower bound "
                "below the upper."
            )
        start = as_float64(self.start_credit, "start_credit")
        size = start.size
        applying = one_each(self.applying, size, "applying", 0.0, 1.0)
        set_field = object.__setattr__
        set_field(self, "start_credit", one_each(start, size, "start_credit", low, high))
        set_field(self, "credit_range", (low, high))
        set_field(self, "applying", applying)
        set_field(self, "groups", Groups.of(self.groups))
        self.groups.require_fit(size)

    @abstractmethod
    def credit(self, world: AnyLedger) -> Float[Array, " applicant"]:
        """Each applicant's credit score: the probability that they repay."""

    @abstractmethod
    def _credit(self, world: AnyLedger) -> Attribute: ...

    @property
    def num_stakeholders(self) -> int:
        return len(self.start_credit)

    @property
    def num_actions(self) -> int:
        return self.num_stakeholders

    @property
    def least_net(self) -> int:
        """The fewest net repayments that reach the profit wanted after the last step."""
        return math.ceil(self.profit_margin * self.horizon / self.repayment - ROUNDING)

    def profit(self, world: AnyLedger) -> Float[Array, ""]:
        return self.repayment * world.net

    def draw(self, key: PRNGKeyArray) -> jax.Array:
        """Who applies."""
        chances = jnp.asarray(self.applying)
        return jax.random.uniform(key, chances.shape) < chances

    def noises(self) -> tuple[jax.Array, Float[Array, " noise"]]:
        return subsets(self.applying)  # type: ignore[arg-type]  # a tuple once built

    def effects(self) -> Int[np.ndarray, "noise action"]:
        return served_or_not(self.noises()[0])

    def rewards(
        self, state: State[AnyLedger, jax.Array], action: Any, world: AnyLedger
    ) -> Float[Array, " stakeholder"]:
        return self._granted(state.noise, action).astype(float)

    def override(
        self, state: State[AnyLedger, jax.Array], action: Any, world: AnyLedger
    ) -> Override:
        wrong = ~jnp.any(self._granted(state.noise, action))
        missed = (world.time == self.horizon) & (world.net < self.least_net)
        penalty = jnp.where(missed, self.missed_profit, jnp.where(wrong, self.wrong_loan, 0.0))
        return Override(missed | wrong, -self.horizon * penalty)

    def observation(self, state: State[AnyLedger, jax.Array]) -> Float[Array, " feature"]:
        """Who applies, each one's credit score, and the profit so far."""
        world = state.world
        return jnp.concatenate(
            (state.noise.astype(float), self.credit(world), self.profit(world)[None])
        )

    def attributes(self, state: State[AnyLedger, jax.Array]) -> tuple[Attribute, ...]:
        """Who applies, each one's credit, and the loans repaid minus those defaulted."""
        net = Attribute(state.world.net, -self.horizon, self.horizon, whole=True)
        return Attribute(state.noise, whole=True), self._credit(state.world), net

    def achieved(self, world: AnyLedger) -> Bool[Array, ""]:
        """The profit margin."""
        return world.net >= self.least_net

    def exchangeable(self) -> Labels:
        own = by_value(zip(self.start_credit, self.applying, strict=True))  # type: ignore[arg-type]
        return refine([own, self.groups.labels(self.num_stakeholders)], self.num_stakeholders)

    def present(self, state: State[AnyLedger, jax.Array]) -> Bool[Array, " stakeholder"]:
        return state.noise

    def bounds(self) -> tuple[list[float], list[float]]:
        """Who applies, credit as a probability, profit."""
        profit, size = self.repayment * self.horizon, self.num_stakeholders
        return [0.0] * 2 * size + [-profit], [1.0] * 2 * size + [profit]

    def reward_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def planning_memory(self) -> Memory:
        """The reward depends on the groups' difference alone: far fewer states than totals."""
        return GroupDifference(self.groups)

    def table_size(self) -> None:
        return None

    def recipe(self) -> Recipe:
        """The appendix's numbers; in `best` nothing is discounted, as the profit counts at the end.

        There is no Reset: it counts applicants, and groups are judged here.
        """
        totals, lead = GroupFull(self.groups), GroupDifference(self.groups)
        return Recipe(
            memories={"fairqcm": lead, "full": totals, "min": lead, "rnn": Nothing()},
            proposal="around",
            reach=5,
            paper=PaperRecipe(
                fairqcm=LearningNumbers(1e-4, 8000, 512),
                rnn=LearningNumbers(5e-3, 2000, 512),
                others=LearningNumbers(1e-4, 1000, 64),
                target_copied_every=100,
                widths=(32, 8),
            ),
            best=BestRecipe(scale=1.0 / self.horizon, groups=self.groups),
        )

    def default_scheme(self) -> FairnessScheme:
        return self.parity_scheme()

    def parity_scheme(self) -> FairnessScheme:
        """Section 6.2 (relaxed demographic parity) at every step, added up.

        The groups are the stakeholders that are judged, so that a memory of groups determines
        the reward.
        """
        return anytime(Parity(), Total(), status=GroupTotals(self.groups))

    def _granted(self, applies: jax.Array, action: Any) -> Bool[Array, " applicant"]:
        """Whose application is granted: nobody's if the one chosen did not apply."""
        # Compared with every index, not looked up: quicker under vmap, see doughnuts.
        return applies & (jnp.arange(self.num_stakeholders) == action)

    def _chance(self, world: AnyLedger, granted: Bool[Array, " applicant"]) -> Float[Array, ""]:
        """The probability that the loan granted is repaid."""
        return jnp.sum(jnp.where(granted, self.credit(world), 0.0))


@ENVIRONMENTS.register("lending")
@dataclass(frozen=True)
class Lending(Bank[Ledger]):
    """Section 6.2: a repaid loan raises the credit score by `credit_step`, a default lowers it.

    >>> Lending().top_level, Lending().start_levels
    (7, (3, 3, 7, 7))
    """

    credit_step: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.credit_range
        if not 0.0 < self.credit_step <= high - low + ROUNDING:
            raise BadParameter(
                f"credit_step is {self.credit_step}: it must be positive and fit into the range "
                f"of {low:g} to {high:g}."
            )
        for what, score in (
            ("upper bound of credit_range", high),
            *((f"start_credit of {i}", score) for i, score in enumerate(self.start_credit)),
        ):
            steps = (score - low) / self.credit_step
            if abs(steps - round(steps)) > ROUNDING:
                raise BadParameter(
                    f"the {what} is {score:g}, which is not a whole number of steps of "
                    f"{self.credit_step:g} above {low:g}: move it, or use GaussianLending."
                )

    @property
    def top_level(self) -> int:
        return self._level(self.credit_range[1])

    @property
    def start_levels(self) -> tuple[int, ...]:
        return tuple(self._level(score) for score in self.start_credit)

    def credit(self, world: Ledger) -> Float[Array, " applicant"]:
        return self.credit_range[0] + self.credit_step * world.level

    def _credit(self, world: Ledger) -> Attribute:
        return Attribute(world.level, 0, self.top_level, whole=True)

    def start(self) -> Ledger:
        zero = jnp.zeros((), dtype=jnp.int32)
        return Ledger(jnp.asarray(self.start_levels, dtype=jnp.int32), zero, zero)

    def outcomes(self, world: Ledger, noise: jax.Array, action: Any) -> Outcomes[Ledger]:
        """Repaid or defaulted; where no loan is granted, the first of two like worlds for sure."""
        granted = self._granted(noise, action)
        lent = jnp.any(granted)
        repaid = jnp.where(lent, self._chance(world, granted), 1.0)
        change = jnp.asarray([1, -1], dtype=jnp.int32)
        levels = jnp.clip(world.level + change[:, None] * granted, 0, self.top_level)
        net = world.net + change * lent
        time = jnp.broadcast_to(world.time + 1, change.shape)
        return Outcomes(jnp.stack((repaid, 1.0 - repaid)), Ledger(levels, net, time))

    def _level(self, score: float) -> int:
        return round((score - self.credit_range[0]) / self.credit_step)


@ENVIRONMENTS.register("lending_gaussian")
@dataclass(frozen=True)
class GaussianLending(Bank[GaussianLedger]):
    """Appendix (extra experiments): the change in credit is normal, then clipped to the range.

    Its mean is `change_mean` after a repaid loan and minus that after a default.
    """

    change_mean: float = 0.05
    change_sigma: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        as_float64(self.change_mean, "change_mean")
        if not (self.change_sigma >= 0 and math.isfinite(self.change_sigma)):
            raise BadParameter(f"change_sigma is {self.change_sigma}: it must be at least 0.")

    def credit(self, world: GaussianLedger) -> Float[Array, " applicant"]:
        return world.score

    def _credit(self, world: GaussianLedger) -> Attribute:
        return Attribute(world.score, *self.credit_range)

    def start(self) -> GaussianLedger:
        zero = jnp.zeros((), dtype=jnp.int32)
        return GaussianLedger(jnp.asarray(self.start_credit), zero, zero)

    def outcomes(
        self, world: GaussianLedger, noise: jax.Array, action: Any
    ) -> Outcomes[GaussianLedger]:
        raise OutcomesNotFinite(
            "GaussianLending can lead to any credit score, so its outcomes cannot be listed: "
            "sample it with `answer`, or plan `Lending`, its discrete form."
        )

    def answer(
        self, key: PRNGKeyArray, world: GaussianLedger, noise: jax.Array, action: Any
    ) -> GaussianLedger:
        repay_key, change_key = jax.random.split(key)
        granted = self._granted(noise, action)
        repaid = jax.random.uniform(repay_key) < self._chance(world, granted)
        direction = jnp.where(repaid, 1, -1)
        change = direction * self.change_mean + self.change_sigma * jax.random.normal(change_key)
        score = jnp.clip(world.score + jnp.where(granted, change, 0.0), *self.credit_range)
        return GaussianLedger(score, world.net + direction * jnp.any(granted), world.time + 1)
