"""Learned and planned policies decide in pools: by the names of files, of one folder alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pandas as pd
import pytest

from evenhand import Allocator
from evenhand.decide.policies import LearnedChoices, PolicyRule
from evenhand.decide.world_from_log import world_of_log
from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter
from evenhand.learn.deep.encoders import Relative
from evenhand.learn.deep.networks import MLP
from evenhand.learn.policies import Greedy
from evenhand.log.options import AuditOptions
from evenhand.planning.planner import plan, save_plan
from evenhand.problem.problem import Problem
from evenhand.serve.pools.explain import explain
from evenhand.serve.pools.files import NO_POLICIES, PolicyFolder, names_policy
from evenhand.serve.pools.imports import make_missing_pools, read_pool_file
from evenhand.serve.pools.pool import LivePool, PoolDefinition, Wish
from evenhand.serve.pools.state import load_pool
from serving import THREE, client_of, new_store

HORIZON = 4
BASE = "/v1/pools/shop"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A plan for three, of four decisions."""
    path = tmp_path_factory.mktemp("made") / "fair.plan"
    shop = Doughnuts(3, HORIZON, 0.5)
    save_plan(plan(Problem(shop, shop.default_scheme())), path)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path, made):
    found = tmp_path / "policies"
    found.mkdir()
    (found / "fair.plan").write_bytes(made)
    (found / "broken.policy").write_text("nothing of the kind")
    (found / "notes.txt").write_text("mine")
    (tmp_path / "secret.plan").write_bytes(made)
    return PolicyFolder(found)


@pytest.fixture
def client(tmp_path, folder):
    store = new_store(tmp_path)
    with client_of(store, policies=folder) as found:
        sent = {"name": "shop", "rule": "fair.plan", "stakeholders": THREE}
        assert found.post("/v1/pools", json=sent).status_code == 201
        yield found
    store.close()


def names(answer):
    return [share["name"] for share in answer.json()["shares"]]


def test_a_plan_takes_turns_until_its_horizon(client):
    """The fairest plan of doughnuts serves whoever of those present has had least."""
    asked = client.get(f"{BASE}/next").json()
    assert (asked["shares"][0]["name"], asked["runner_up"]["name"]) == ("Ann", "Ben")
    assert "fair.plan" in asked["rule"]
    taken = [names(client.post(f"{BASE}/decisions", json={})) for _ in range(2)]
    taken += [names(client.post(f"{BASE}/decisions", json={"without": ["Cem"]}))]
    assert taken == [["Ann"], ["Ben"], ["Ann"]]
    assert names(client.get(f"{BASE}/next")) == ["Cem"]  # the last one that it was made for
    why = client.get(f"{BASE}/why?name=Ben").json()
    assert (why["rank"], why["turns_until"]) == (2, None)
    assert "Ben would be next if Cem were away." in why["what_would_differ"]
    assert "depends on who is there" in client.get(f"{BASE}/forecast?name=Ben").json()["sentence"]
    assert names(client.post(f"{BASE}/decisions", json={})) == ["Cem"]
    over = client.post(f"{BASE}/decisions", json={})
    assert over.status_code == 422
    assert "made for 4 decisions" in over.json()["detail"]
    assert client.post(f"{BASE}/decisions/5/undo", json={}).status_code == 201
    assert names(client.get(f"{BASE}/next")) == ["Ann"]


def test_whoever_does_not_fit_is_refused_and_nothing_is_half_done(client, monkeypatch):
    monkeypatch.setattr(client.app.inner.state.service.pools, "load", None)  # nor read again
    joined = client.post(f"{BASE}/events", json={"event": "join", "name": "Dan"})
    assert joined.status_code == 422
    assert "3 stakeholders" in joined.json()["detail"]
    assert names(client.post(f"{BASE}/decisions", json={})) == ["Ann"]
    assert client.get(BASE).json()["stakeholders"] == 3
    for _ in range(HORIZON - 2):
        client.post(f"{BASE}/decisions", json={})
    before = client.get(f"{BASE}/state").json()
    two = {"shares": [{"name": "Ann"}, {"name": "Ben"}], "reason": "one too many"}
    assert "made for 4 decisions" in client.post(f"{BASE}/decisions", json=two).json()["detail"]
    assert client.get(f"{BASE}/state").json() == before


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("../secret.plan", "without its folder"),
        ("/etc/hosts.plan", "without its folder"),
        ("policies/fair.plan", "without its folder"),
        ({"name": "policy", "file": "../secret.plan"}, "without its folder"),
        ({"name": "policy", "file": 7}, "without its folder"),
        ({"name": "policy"}, "without its folder"),
        ("none.policy", "broken.policy, fair.plan"),
        ("broken.policy", "broken.policy is not a policy"),
        ("notes.txt", "no rule called"),
        ({"name": "policy", "file": "fair.plan", "digest": "00"}, "put the file back"),
    ],
)
def test_only_files_of_the_folder_are_read(client, tmp_path, rule, words):
    refused = client.post("/v1/pools", json={"name": "other", "rule": rule})
    assert refused.status_code == 422
    assert words in refused.json()["detail"]
    assert str(tmp_path) not in refused.text


def test_the_same_file_decides_after_a_restart_and_no_other(tmp_path, folder, made):
    store = new_store(tmp_path)
    toml = tmp_path / "pools.toml"
    toml.write_text('[shop]\nrule = "fair.plan"\nstakeholders = ["Ann", "Ben", "Cem"]\n')
    make_missing_pools(store, read_pool_file(toml, folder))
    with client_of(store, policies=folder) as client:
        assert names(client.post(f"{BASE}/decisions", json={})) == ["Ann"]
    with client_of(store, policies=PolicyFolder(folder.folder)) as client:
        assert names(client.get(f"{BASE}/next")) == ["Ben"]
    with pytest.raises(BadParameter, match="folder of policies"):
        load_pool(store, "shop")
    (folder.folder / "fair.plan").write_bytes(made + b" ")
    with pytest.raises(BadParameter, match="put the file back"):
        load_pool(store, "shop", policies=folder)
    store.close()


def test_what_names_a_policy(folder, tmp_path):
    assert names_policy("fair.policy")
    assert not names_policy("least_served")
    assert not names_policy({"name": "lottery", "seed": 1})
    assert folder.names() == ["broken.policy", "fair.plan"]
    assert NO_POLICIES.names() == []
    with pytest.raises(BadParameter, match="must be a folder"):
        PolicyFolder(tmp_path / "secret.plan")


def pool_of_a_policy_that_minds_the_lot():
    """Lots below 3 are best given to A and then B, larger ones to C and then A."""
    log = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=14), "doses": [1, 2] * 7})
    columns = {"stakeholder": "to", "time": "day", "amount": "doses"}
    made = world_of_log(log.assign(to=["A", "B"] * 6 + ["C"] * 2), AuditOptions(**columns))
    problem = Problem(made.world, made.world.default_scheme())
    weights = MLP((4,)).init(jax.random.key(0), Relative().layout(problem), 3)
    choices = LearnedChoices(Greedy(problem, Relative(), MLP((4,)), weights))
    small, large = jnp.array([3.0, 2.0, 1.0]), jnp.array([2.0, 1.0, 3.0])
    choices.worth = lambda _, now: jnp.where(now.state.noise.amount < 3, small, large)
    allocator = Allocator(PolicyRule(choices, "week.policy"), dates=True)
    for name in "ABC":
        allocator.join(name, at="2024-02-01")
    return LivePool(PoolDefinition("p"), allocator)


@pytest.mark.parametrize(("amount", "order"), [(1, "ABC"), (5, "CAB")])
def test_a_policy_is_asked_about_the_lot_that_is_to_be_given(amount, order):
    """Who is second, and why, too: not about a lot of the usual size."""
    pool, wish = pool_of_a_policy_that_minds_the_lot(), Wish(amount, at="2024-02-02")
    proposal = pool.propose(wish, 0)
    assert proposal.shares == ((order[0], amount),)
    assert "is worth 3, as much as any choice" in proposal.because[0]
    assert proposal.runner_up[0] == order[1]
    assert "is worth 2, 1 less than the best choice" in proposal.runner_up[1]
    for rank, name in enumerate(order, 1):
        found = explain(pool, name, wish, 0)
        assert (found["rank"], found["next"]["name"]) == (rank, order[0])
        assert found["standing"]["reason"] in found["sentence"]
    shares = ((order[2], amount),)
    other = pool.decide(Wish(amount, at=wish.at, shares=shares, reason="for a reason"), 0)
    assert "is worth 1, 2 less than the best choice" in other.because[0]
    # To have asked leaves nothing behind: the standing is that of a lot of the usual size.
    assert pool.propose(Wish(1e6, among=("A",), at="2024-02-02"), 0).shares
    assert [one.name for one in pool.allocator.ranking("2024-02-02")] == list("ABC")


def test_after_the_last_decision_of_a_plan_its_pages_still_open(client):
    secret = client.headers["authorization"].removeprefix("Bearer ")
    for _ in range(HORIZON):
        assert client.post(f"{BASE}/decisions", json={}).status_code == 201
    del client.headers["authorization"]
    assert client.post("/sign-in", data={"token": secret}).status_code == 200
    page = client.get("/pools/shop")
    assert page.status_code == 200
    assert "fair.plan was made for 4 decisions" in page.text.replace("Fair.plan", "fair.plan")
    for path in ("/standing", "/log", "/people/0", "/judged"):
        assert client.get(f"/pools/shop{path}").status_code == 200, path
