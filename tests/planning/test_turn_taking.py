"""Turn taking is compared with a plan where that means something, and said in words."""

from __future__ import annotations

from types import SimpleNamespace

from evenhand import LogNash, PerEntitlement, Total, anytime
from evenhand.envs import Doughnuts, Lending
from evenhand.planning import turn_taking
from evenhand.planning.planner import plan
from evenhand.planning.turn_taking import TurnTakingCheck, check_turn_taking
from evenhand.problem.problem import Problem

NASH = anytime(LogNash(), Total())


def test_it_is_optimal_among_equals_and_not_among_unequal():
    found = check_turn_taking(plan(Problem(Doughnuts(2, 4, 0.8), NASH)))
    assert found == TurnTakingCheck(True)
    assert found.to_json() == {"optimal": True}
    assert "of those present, serve the one who has had least" in found.describe()
    unequal = check_turn_taking(plan(Problem(Doughnuts(2, 3, (0.9, 0.2)), NASH)))
    assert not unequal.optimal
    witness = unequal.witness
    assert unequal.to_json() == {"optimal": False, "witness": witness}
    values, chosen = witness["values"], witness["chosen"]
    best = values.index(max(values))
    assert best != chosen
    assert (
        f"at step {witness['time']}, with [0, 1] present, it serves {chosen} (worth "
        f"{values[chosen]:.4f}) where serving {best} is worth {values[best]:.4f}."
    ) in unequal.describe()


def test_where_it_means_nothing_or_takes_long_nothing_is_said(monkeypatch):
    bank = Lending(horizon=2)
    entitled = anytime(LogNash(), Total(), PerEntitlement((1, 2)))
    for problem in (Problem(bank, NASH), Problem(Doughnuts(2, 2, 0.5), entitled)):
        assert check_turn_taking(SimpleNamespace(problem=problem, table=None)) is None
    found = plan(Problem(Doughnuts(2, 3, 0.5), NASH), canonical=False)
    # 1 + 3 + 6 states before each decision, 4 sets of who is there, 2 actions.
    looked_at = (1 + 3 + 6) * 4 * 2
    monkeypatch.setattr(turn_taking, "MAX_CHECKED", looked_at)
    assert check_turn_taking(found) == TurnTakingCheck(True)
    monkeypatch.setattr(turn_taking, "MAX_CHECKED", looked_at - 1)
    assert check_turn_taking(found) is None
