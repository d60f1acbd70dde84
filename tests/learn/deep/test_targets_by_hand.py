"""What deep agents store, learn towards and act by, against plain Python in three rooms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evenhand.errors import BadParameter
from evenhand.fairness.scheme import anytime
from evenhand.fairness.temporal import Total
from evenhand.fairness.welfare import LogNash
from evenhand.learn.deep.agent import AgentState, HardUpdate, Huber, PolyakUpdate, of_action
from evenhand.learn.deep.dqn import DQN, Experience, Moment, RecurrentDQN
from evenhand.learn.deep.encoders import Raw
from evenhand.learn.deep.networks import MLP, Recurrent
from evenhand.learn.imagined_memories import Above
from evenhand.learn.schedules import Exploration
from evenhand.memory.memory import Full
from evenhand.problem.problem import Problem
from three_rooms import Goals, Happened, ThreeRooms

PROBLEM = Problem(ThreeRooms(), anytime(LogNash(), Total()), Full())
HORIZON = PROBLEM.environment.horizon
LINEAR = MLP(())  # one layer: its values are worked out below in one line
PLAIN = {"problem": PROBLEM, "encoder": Raw(), "network": LINEAR, "capacity": 60, "batch": 16}
LEARNERS, STEPS = 6, 7  # into a third episode


def seen(features) -> tuple[tuple[float, float], int, int]:
    """What was remembered, the room and the coin, read off the features."""
    counts, place, coin = features[:2], features[2:5], features[5]
    assert sum(place) == 1.0
    return tuple(map(float, counts)), int(np.argmax(place)), int(coin)


def shown(counts, room, coin):
    """The features of a cell: what each has, which room it is, the coin."""
    return [*counts, *(float(room == k) for k in range(3)), float(coin)]


@cache
def _fresh(network) -> AgentState:
    kind = DQN if network == LINEAR else RecurrentDQN
    agent = kind(**PLAIN | {"network": network})
    return jax.jit(jax.vmap(agent.start))(jax.random.split(jax.random.key(2), LEARNERS))


def fresh(agent) -> AgentState:
    """Learners side by side before the first step; those of one network begin alike."""
    kept = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf, (LEARNERS, *leaf.shape)), agent.empty_replay()
    )
    epsilon = jnp.full(LEARNERS, agent.exploration.start)
    return _fresh(agent.network)._replace(replay=kept[0], pending=kept[1], epsilon=epsilon)


def one_of(learners, k=0):
    return jax.tree.map(lambda leaf: leaf[k], learners)


def experienced(agent) -> list[AgentState]:
    """Learners side by side before the first step and after each."""
    step, states = jax.jit(jax.vmap(agent.experience)), [fresh(agent)]
    for _ in range(STEPS):
        states.append(step(states[-1]))
    return [jax.tree.map(np.asarray, state._replace(key=())) for state in states]


def history(items, k: int, each: int) -> list[Happened]:
    """The real steps of one learner, from its buffer, with `each` items stored a step."""
    steps = []
    for t in range(STEPS):
        place = t * each
        counts, room, coin = seen(items.features[k, place])
        _, after, next_coin = seen(items.following[k, place])
        action = int(items.action[k, place])
        steps.append(Happened(t % HORIZON, room, coin, counts, action, after, next_coin))
    return steps


def require_one_history(steps):
    """Each step begins where the one before it ended, or anew."""
    for before, now in pairwise(steps):
        if now.time == 0:
            assert (now.room, now.counts) == (0, (0.0, 0.0))
        else:
            there = before.after, before.next_coin, before.next_counts
            assert (now.room, now.coin, now.counts) == there


ONE_STEP = {
    "cut off, imagining": {"discount": 0.9, "shaping": True, "proposal": Above(1)},
    "ends, imagining, scaled": {
        "discount": 0.8,
        "horizon_terminates": True,
        "shaping": True,
        "scale": 0.25,
        "baseline": (0.5, -1.0, 2.0),
        "proposal": Above(1),
    },
}
ENDS = {"discount": 1.0, "horizon_terminates": True, "shaping": True, "scale": 0.5}


def goals_of(agent) -> Goals:
    return Goals(HORIZON, agent.discount, agent.horizon_terminates, agent.shaping, agent.scale)


@pytest.mark.parametrize("name", ONE_STEP)
def test_what_is_stored_of_a_step_is_what_the_rooms_say(name):
    agent = DQN(**PLAIN, **ONE_STEP[name])
    require_stored(agent, experienced(agent))


def require_stored(agent, states):
    goals, each = goals_of(agent), 2 if agent.imagines else 1
    last = states[-1]
    assert last.replay.stored.tolist() == [each * STEPS] * LEARNERS
    for k in range(LEARNERS):
        steps = history(last.replay.items, k, each)
        require_one_history(steps)
        for t, real in enumerate(steps):
            more = real._replace(counts=(real.counts[0] + 1.0, real.counts[1] + 1.0))
            for place, step in enumerate((real, more)[:each], start=t * each):
                item = jax.tree.map(lambda leaf, k=k, at=place: leaf[k, at], last.replay.items)
                assert item.features.tolist() == shown(step.counts, step.room, step.coin)
                assert item.following.tolist() == shown(
                    step.next_counts, step.after, step.next_coin
                )
                assert item.action == step.action
                usual = agent.baseline[step.time] if agent.baseline else 0.0
                reward = goals.reward(step) - agent.scale * usual
                assert item.reward == pytest.approx(reward, abs=1e-5)
                assert item.bootstrap == pytest.approx(goals.bootstrap(step.time))
        assert [int(state.time[k]) for state in states] == [t % HORIZON for t in range(STEPS + 1)]


def test_two_steps_are_gathered_with_their_discount():
    # The same keys and no learning: the same steps are taken, however they are gathered.
    single, double = (DQN(**PLAIN, **ENDS | {"discount": 0.8}, lookahead=n) for n in (1, 2))
    goals, states = goals_of(single), experienced(single)
    require_stored(single, states)
    items = states[-1].replay.items
    gathered = experienced(double)[-1].replay
    for k in range(LEARNERS):
        steps = history(items, k, 1)
        expected = []
        for t, step in enumerate(steps):
            if step.time < HORIZON - 1 and t + 1 < STEPS:
                then = steps[t + 1]
                reward = goals.reward(step) + goals.discount * goals.reward(then)
                expected.append((step, reward, goals.bootstrap(then.time, 2), then))
            elif step.time == HORIZON - 1:  # the episode is over before a second step
                expected.append((step, goals.reward(step), goals.bootstrap(step.time), step))
        stored = int(gathered.stored[k])
        assert stored == len(expected)
        found = {}
        for place in range(stored):
            item = jax.tree.map(lambda leaf, k=k, at=place: leaf[k, at], gathered.items)
            numbers = [float(item.reward), float(item.bootstrap), *item.following.tolist()]
            found.setdefault((*item.features.tolist(), int(item.action)), []).append(numbers)
        for step, reward, bootstrap, last in expected:
            key = (*shown(step.counts, step.room, step.coin), step.action)
            after = shown(last.next_counts, last.after, last.next_coin)
            numbers = np.array([reward, bootstrap, *after])
            assert min(np.abs(numbers - one).max() for one in found[key]) < 1e-5


# What is learned towards


def batch_of(rng, size=12) -> Experience:
    features, following = rng.normal(size=(2, size, 6)).astype(np.float32)
    bootstrap = rng.choice([0.0, 0.9], size).astype(np.float32)
    reward, ahead = rng.normal(size=(2, size)).astype(np.float32)
    return Experience(features, rng.integers(0, 2, size), reward, bootstrap, following, ahead)


def linear(rng) -> Any:
    """Weights of the one layer."""
    return jax.tree.map(
        lambda leaf: rng.normal(size=leaf.shape[1:]).astype(np.float32), _fresh(LINEAR).weights
    )


def values(weights, features):
    (layer,) = weights
    return features @ layer.weight.T + layer.bias


@pytest.mark.parametrize(
    "settings",
    [
        {"double": True},
        {"target": PolyakUpdate(0.1)},
        {"target": HardUpdate(9)},
        {"target": HardUpdate(9), "double": True, "loss": Huber(0.5)},
    ],
    ids=["double", "drifting", "stored", "double, Huber"],
)
def test_the_loss_and_its_slope_by_hand(settings):
    agent = DQN(**PLAIN, **settings)
    rng = np.random.default_rng(4)
    batch, online, target, learning = batch_of(rng), linear(rng), linear(rng), linear(rng)
    state = AgentState(online, target, *[()] * (len(AgentState._fields) - 2))
    found, slope = jax.value_and_grad(agent.loss_of)(learning, state, batch)
    theirs = values(target, batch.following)
    every = np.arange(len(batch.action))
    if agent.double:
        ahead = theirs[every, values(online, batch.following).argmax(axis=1)]
    elif isinstance(agent.target, HardUpdate):
        ahead = batch.ahead  # stored with the items
    else:
        ahead = theirs.max(axis=1)
    error = values(learning, batch.features)[every, batch.action]
    error = error - (batch.reward + batch.bootstrap * ahead)
    if "loss" in settings:
        inside = np.abs(error) < 0.5
        cost = np.where(inside, error**2 / 2, 0.5 * np.abs(error) - 0.125)
        by_value = np.where(inside, error, 0.5 * np.sign(error))
    else:
        cost, by_value = error**2, 2 * error
    assert float(found) == pytest.approx(cost.mean(), rel=1e-5)
    chosen = np.eye(2)[batch.action] * by_value[:, None] / len(error)
    np.testing.assert_allclose(slope[0].weight, chosen.T @ batch.features, atol=1e-5)
    np.testing.assert_allclose(slope[0].bias, chosen.sum(axis=0), atol=1e-5)


@dataclass(frozen=True)
class InUnits(MLP):
    """A layer whose errors count in units of the first number that it is shown."""

    hidden: tuple[int, ...] = ()

    def unit(self, weights, features):
        return features[0]


def test_an_error_is_measured_in_the_networks_unit():
    agent = DQN(**PLAIN | {"network": InUnits()}, target=HardUpdate(9))
    rng = np.random.default_rng(4)
    batch, weights = batch_of(rng), linear(rng)
    found = agent.loss_of(weights, None, batch)
    value = values(weights, batch.features)[np.arange(len(batch.action)), batch.action]
    error = (value - (batch.reward + batch.bootstrap * batch.ahead)) / batch.features[:, 0]
    assert float(found) == pytest.approx(np.mean(error**2), rel=1e-4)


# How a learner moves


def filled(learner, stored):
    """A learner with so many items in its buffer, all of them real and different."""
    rng = np.random.default_rng(1)
    items = jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), learner.replay.items
    )
    replay = learner.replay._replace(items=items, stored=jnp.asarray(stored, dtype=jnp.int32))
    return learner._replace(replay=replay, steps=replay.stored)


def adam(rate, *slopes):
    """The sum of the steps of Adam for a sequence of slopes, by its definition."""
    first, second, moved = 0.0, 0.0, 0.0
    for k, slope in enumerate(np.asarray(slopes, dtype=float), start=1):
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        scaled = first / (1 - 0.9**k) / (np.sqrt(second / (1 - 0.999**k)) + 1e-8)
        moved = moved - rate(k - 1) * scaled
    return moved


def require_close(trees, others, atol=1e-5):
    for one, other in zip(jax.tree.leaves(trees), jax.tree.leaves(others), strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        ({"halved_after": 2, "target": PolyakUpdate(0.25)}, lambda k: 0.1 / (1 + k / 2)),
        ({"target": HardUpdate(2)}, lambda k: 0.1),
    ],
    ids=["a falling rate, a drifting target", "a fixed rate, a copied target"],
)
def test_updates_are_adams_and_the_target_follows(settings, rate):
    agent = DQN(**PLAIN | {"capacity": 8}, learning_rate=0.1, double=True, **settings)
    start = filled(one_of(fresh(agent)), 8)
    learner = start = start._replace(optimiser=agent._optimiser.init(start.weights))
    update, slope_of = jax.jit(agent.update), jax.jit(jax.value_and_grad(agent.loss_of))
    slopes = []
    for _ in range(3):
        key, batch_key = jax.random.split(learner.key)
        loss, slope = slope_of(learner.weights, learner, agent.draw(learner, batch_key))
        slopes.append(slope)
        after = update(learner)
        mean = 0.99 * float(learner.loss) + 0.01 * float(loss)
        assert float(after.loss) == pytest.approx(mean, rel=1e-4)
        moved = jax.tree.map(lambda *each: adam(rate, *each), *slopes)
        require_close(after.weights, jax.tree.map(jnp.add, start.weights, moved), atol=1e-4)
        share = 0.25 if isinstance(agent.target, PolyakUpdate) else 0.0
        drifted = jax.tree.map(
            lambda old, new, share=share: old + share * (new - old), learner.target, after.weights
        )
        require_close(after.target, drifted)
        assert int(after.updates) == len(slopes)
        assert (jax.random.key_data(after.key) == jax.random.key_data(key)).all()
        learner = after


def test_only_those_with_enough_stored_learn_and_targets_are_copied_when_due():
    """Two learners side by side, of which one has not enough; three updates, a copy after two."""
    settings = PLAIN | {"capacity": 8, "warm_up": 5, "target": HardUpdate(2)}
    agent = DQN(**settings, learning_rate=0.1, updates_per_step=3)
    once = DQN(**settings, learning_rate=0.1)
    single = one_of(fresh(agent))
    both = [filled(single, 4), filled(single, 5)]
    before = jax.tree.map(lambda *leaves: jnp.stack(leaves), *both)
    after = jax.jit(agent.learn)(before)
    assert after.updates.tolist() == [0, 3]
    idle, moved = (jax.tree.map(lambda leaf, k=k: leaf[k], after) for k in range(2))
    require_close((idle.weights, idle.target), (single.weights, single.target), atol=0)
    assert float(jnp.abs(moved.weights[0].weight - single.weights[0].weight).max()) > 0.05
    # The copy is the network as it was after two updates, and what is stored is by the copy.
    step, apart = jax.jit(once.learn), before
    for _ in range(2):
        apart = step(apart)
    require_close(moved.target, jax.tree.map(lambda leaf: leaf[1], apart.weights))
    stored = values(
        jax.tree.map(np.asarray, moved.target), np.asarray(moved.replay.items.following)
    )
    np.testing.assert_allclose(moved.replay.items.ahead, stored.max(axis=1), atol=1e-5)
    untouched = both[0].replay.items.ahead
    np.testing.assert_array_equal(idle.replay.items.ahead, untouched)


def test_a_full_buffer_is_enough_unless_another_number_is_given():
    agent = DQN(**PLAIN | {"capacity": 8})
    learner = one_of(fresh(agent))
    assert [bool(agent.ready(filled(learner, stored))) for stored in (7, 8)] == [False, True]
    # However many decisions it took: there must be something to learn from.
    warm = DQN(**PLAIN | {"capacity": 8}, warm_up=2)
    late = [filled(learner, n)._replace(steps=jnp.asarray(9)) for n in (0, 1)]
    assert [bool(warm.ready(one)) for one in late] == [False, True]


def test_with_what_was_learned_before_it_explores_as_little_as_at_the_end():
    agent = DQN(**PLAIN, exploration=Exploration(1.0, 0.5, 0.2))
    learners, known = fresh(agent), jax.tree.map(jnp.ones_like, fresh(agent).weights)
    begun = agent.started_from(learners, known)
    require_close((begun.weights, begun.target), (known, known), atol=0)
    assert begun.epsilon.tolist() == pytest.approx([0.2] * LEARNERS)
    assert begun.steps.tolist() == learners.steps.tolist()


def test_progress_is_the_loss_and_the_best_value_in_the_problems_own_unit():
    agent = DQN(**PLAIN, scale=0.25)
    learners = fresh(agent)._replace(loss=jnp.arange(float(LEARNERS)))
    found = agent.learning(learners)
    assert found.loss.tolist() == list(range(LEARNERS))
    for k in range(LEARNERS):
        learner = one_of(learners, k)
        expected = values(learner.weights, np.asarray(agent.encode(learner.augmented)))
        assert float(found.value[k]) == pytest.approx(float(expected.max()) / 0.25, rel=1e-4)


def test_a_baseline_is_a_number_for_each_step_of_a_horizon_that_ends():
    for wrong in ({"horizon_terminates": True, "baseline": (1.0,) * 2}, {"baseline": (1.0,) * 3}):
        with pytest.raises(BadParameter, match="one for each of the 3 steps, of a horizon that"):
            DQN(**PLAIN, **wrong)


def test_nothing_has_begun_before_the_first_step():
    assert DQN(**PLAIN, lookahead=3).empty_replay()[1].age.tolist() == [-1, -1, -1]


def test_greedy_evaluation_is_by_the_target_network_unless_asked_otherwise():
    state = AgentState("online", "target", *[()] * (len(AgentState._fields) - 2))
    for agent in (DQN(**PLAIN), DQN(**PLAIN, acts_with_target=True)):
        assert agent.acting(state) == "target"
        assert agent.policy(state).weights == "target"
    assert DQN(**PLAIN, acts_with_target=False).acting(state) == "online"


def test_a_decision_is_the_networks_or_any():
    agent = DQN(**PLAIN, exploration=Exploration(1.0, 0.5, 0.2))
    learner = one_of(fresh(agent))
    features = np.asarray(agent.encode(learner.augmented))
    own = linear(np.random.default_rng(6))
    best = int(values(own, features).argmax())
    keys = jax.random.split(jax.random.key(1), 400)
    decide = jax.jit(
        jax.vmap(lambda learner, key: agent.choose(learner, learner.augmented, key)[1], (None, 0))
    )
    chosen = {}
    for epsilon in (0.0, 0.5, 1.0):
        at = learner._replace(weights=own, epsilon=jnp.asarray(epsilon, dtype=jnp.float32))
        chosen[epsilon] = np.asarray(decide(at, keys))
    assert set(chosen[0.0].tolist()) == {best}
    # Any action is as likely as another: half of those that explore take the best one too.
    for epsilon, share in ((0.5, 0.75), (1.0, 0.5)):
        assert abs((chosen[epsilon] == best).mean() - share) < 5 * 0.5 / np.sqrt(400)


# With a network that carries something


GRU = Recurrent((), 3)
SEQUENCE = {"problem": PROBLEM, "encoder": Raw(), "network": GRU, "capacity": 60}


def cell_by_hand(cell, x, carry):
    """A GRU from its definition (Cho et al.): reset, update, candidate."""
    gates, hidden = cell.weight_ih @ x + cell.bias, cell.weight_hh @ carry
    size = len(carry)
    reset, update = (
        1.0 / (1.0 + np.exp(-(gates + hidden)[k * size : (k + 1) * size])) for k in range(2)
    )
    candidate = np.tanh(gates[2 * size :] + reset * (hidden[2 * size :] + cell.bias_n))
    return candidate + update * (carry - candidate)


def gru_values(weights, carry):
    _, _, out = weights
    return out.weight @ carry + out.bias


def gru_weights(seed):
    """Weights of the GRU network in float64, large enough for its carry to matter."""
    weights = one_of(_fresh(GRU), seed).weights
    return jax.tree.map(lambda leaf: 2.0 * np.asarray(leaf, dtype=float), weights)


def unrolled(weights, carry, features, first):
    carries = []
    for x, begins in zip(features, first, strict=True):
        carry = cell_by_hand(weights[1], x, np.zeros(3) if begins else carry)
        carries.append(carry)
    return carries


@pytest.mark.parametrize(("double", "burn_in"), [(False, 3), (True, 2), (True, 0)])
def test_the_loss_of_a_sequence_by_hand(double, burn_in):
    """Values with the network's own carries; what follows with the carry of after each step."""
    agent = RecurrentDQN(**SEQUENCE, double=double, length=4, burn_in=burn_in)
    rng = np.random.default_rng(8)
    time = agent.window
    first = np.zeros(time, dtype=bool)
    first[burn_in + 2] = True  # an episode begins in the midst of what counts
    if burn_in:
        first[1] = True
    moments = Moment(
        features=rng.normal(size=(time, 6)),
        carry=rng.normal(size=(time, 3)),
        first=first,
        action=rng.integers(0, 2, time),
        reward=rng.normal(size=time),
        bootstrap=rng.choice([0.0, 0.9], time),
        following=rng.normal(size=(time, 6)),
    )
    online, target = gru_weights(1), gru_weights(2)
    state = AgentState(online, target, *[()] * (len(AgentState._fields) - 2))
    costs = []
    own, theirs = (
        unrolled(each, moments.carry[0], moments.features, first) for each in (online, target)
    )
    for t in range(burn_in, time):
        value = gru_values(online, own[t])[moments.action[t]]
        x = moments.following[t]
        ahead = gru_values(target, cell_by_hand(target[1], x, theirs[t]))
        if double:
            choice = gru_values(online, cell_by_hand(online[1], x, own[t])).argmax()
        else:
            choice = ahead.argmax()
        goal = moments.reward[t] + moments.bootstrap[t] * ahead[choice]
        costs.append((value - goal) ** 2)
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], moments)
    found = agent.loss_of(online, state, batch)
    assert float(found) == pytest.approx(np.mean(costs), rel=1e-4)


def test_a_recurrent_agent_stores_its_history_and_forgets_with_the_episode():
    agent = RecurrentDQN(
        **SEQUENCE, **ENDS, exploration=Exploration(0.8, 0.5, 0.1), length=4, burn_in=2
    )
    goals, states = goals_of(agent), experienced(agent)
    items = states[-1].replay.items
    assert states[-1].replay.stored.tolist() == [STEPS] * LEARNERS
    for k in range(LEARNERS):
        steps = history(items, k, 1)
        require_one_history(steps)
        weights = jax.tree.map(lambda leaf, k=k: np.asarray(leaf[k], float), states[0].weights)
        carry = np.zeros(3)
        for t, step in enumerate(steps):
            carry = np.zeros(3) if step.time == 0 else carry
            moment = jax.tree.map(lambda leaf, k=k, t=t: leaf[k, t], items)
            np.testing.assert_allclose(moment.carry, carry, atol=1e-5)
            assert bool(moment.first) == (step.time == 0)
            assert moment.following.tolist() == shown(step.next_counts, step.after, step.next_coin)
            assert moment.reward == pytest.approx(goals.reward(step), abs=1e-5)
            assert moment.bootstrap == pytest.approx(goals.bootstrap(step.time))
            carry = cell_by_hand(weights[1], shown(step.counts, step.room, step.coin), carry)
            over = step.time == HORIZON - 1
            np.testing.assert_allclose(
                states[t + 1].carry[k], np.zeros(3) if over else carry, atol=1e-5
            )
            episodes = (t + 1) // HORIZON
            expected = max(0.8 * 0.5**episodes, 0.1)
            assert float(states[t + 1].epsilon[k]) == pytest.approx(expected)


def test_a_batch_of_sequences_is_as_many_as_fill_it():
    agent = RecurrentDQN(**SEQUENCE, batch=9, length=4, burn_in=1)
    learner = filled(one_of(fresh(agent)), 60)
    drawn = agent.draw(learner, jax.random.key(1))
    assert drawn.reward.shape == (2, 5)
    small = RecurrentDQN(**SEQUENCE, batch=3, length=4, burn_in=1)
    assert small.draw(learner, jax.random.key(1)).reward.shape == (1, 5)


def test_the_value_of_the_action_taken():
    found = of_action(jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), jnp.array([1, 0, 1]))
    assert found.tolist() == [2.0, 3.0, 6.0]
