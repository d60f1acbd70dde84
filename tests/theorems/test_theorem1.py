"""Theorem 1: value-regular statuses become Markovian with a finite memory."""

from __future__ import annotations

import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.errors import (
    BadExpression,
    BadParameter,
    DoesNotClose,
    NotAPartition,
    UnequalLengths,
    UnknownEvent,
)
from evenhand.fairness.scheme import anytime
from evenhand.fairness.status import Window
from evenhand.fairness.trace import Step, Trace
from evenhand.fairness.welfare import Utilitarian
from evenhand.memory.automata import Events, TableMemory, TableStatus
from evenhand.memory.languages import ValueRegular, automaton_of
from evenhand.process import FiniteMDP, MarkovPolicy, rollout

GOT = Events(labels=("gotA", "gotB", "none"), label=lambda step: step.action)
AB = Events(labels=("a", "b"), label=lambda step: step.action)


def strings(labels, max_length):
    for length in range(max_length + 1):
        yield from itertools.product(labels, repeat=length)


@st.composite
def moore_machines(draw, max_states=4, num_labels=2, num_values=3):
    """A transition table, the number of a value for each state, and the initial state."""
    size = draw(st.integers(1, max_states))
    state = st.integers(0, size - 1)
    table = draw(
        st.lists(st.tuples(*[state] * num_labels), min_size=size, max_size=size).map(np.array)
    )
    outputs = draw(st.lists(st.integers(0, num_values - 1), min_size=size, max_size=size))
    return table, outputs, draw(state)


def dfa_of(table, final, labels, initial=0):
    return DFA(
        states=set(range(len(table))),
        input_symbols=set(labels),
        transitions={
            q: dict(zip(labels, map(int, row), strict=True)) for q, row in enumerate(table)
        },
        initial_state=initial,
        final_states=set(final),
    )


def places(outputs, value):
    return [q for q, out in enumerate(outputs) if out == value]


def run(table, string, labels, state=0):
    for label in string:
        state = table[state][labels.index(label)]
    return state


@given(moore_machines(), st.data())
def test_the_memory_knows_the_value_of_every_string(machine, data):
    table, outputs, initial = machine
    values = np.array([[0.0, 1.0], [2.0, -1.0], [5.0, 5.0]])
    used = sorted(set(outputs))
    # Minified and partial automata of different shapes: their product is not the machine again.
    automata = [dfa_of(table, places(outputs, v), AB.labels, initial).to_partial() for v in used]
    regular = ValueRegular(values=values[used], languages=automata, events=AB)
    memory = regular.memory()
    string = data.draw(st.lists(st.sampled_from(AB.labels), max_size=12))
    expected = values[outputs[run(table, string, AB.labels, initial)]]
    state = memory.init(2)
    for label in string:
        state = memory.update(state, Step(action=label, rewards=np.zeros(2)))
    assert state.dtype == np.int32
    assert state.shape == ()
    np.testing.assert_array_equal(memory.implied_status(state), expected)
    np.testing.assert_array_equal(regular.status_after(string), expected)
    assert memory.after(string) == state


def test_only_reachable_products_are_kept():
    # Two parities of the same count: 2 × 2 states, of which 2 are reached.
    even, odd = "(b* a b* a)* b*", "(b* a b* a)* b* a b*"
    memory = ValueRegular(values=[[0], [1]], languages=[even, odd], events=AB).memory()
    assert memory.size == 2
    np.testing.assert_array_equal(memory.table, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(memory.values, [[0], [1]])


# A regular expression as a tree, written once for us and once for Python's re.
trees = st.recursive(
    st.sampled_from(["x", "y", ".", "()"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("*+?"), inner),
        st.tuples(st.just("|"), inner, inner),
        st.tuples(st.just(" "), inner, inner),
    ),
    max_leaves=7,
)


def written(tree, names):
    if isinstance(tree, str):
        return names.get(tree, tree)
    sign, *parts = tree
    if len(parts) == 1:
        return f"({written(parts[0], names)}){sign}"
    joint = {"|": " | " if names["x"] != "x" else "|", " ": " " if names["x"] != "x" else ""}
    return "(" + joint[sign].join(written(part, names) for part in parts) + ")"


@given(trees)
def test_expressions_mean_what_pythons_mean(tree):
    events = Events(labels=("gave X", "y-ish"), label=lambda step: step.action)
    dfa = automaton_of(written(tree, {"x": "'gave X'", "y": "y-ish"}), events)
    pattern = re.compile(written(tree, {"x": "x", "y": "y"}))
    for string in strings("xy", 5):
        labels = [{"x": "gave X", "y": "y-ish"}[letter] for letter in string]
        assert dfa.accepts_input(labels) == bool(pattern.fullmatch("".join(string)))


def test_who_got_the_last_doughnut():
    regular = ValueRegular(
        values=[[0, 0], [1, 0], [0, 1]],
        languages=["none*", ".* gotA none*", ".* gotB none*"],
        events=GOT,
    )
    memory = regular.memory()
    assert memory.size == 3
    np.testing.assert_array_equal(memory.table, [[1, 2, 0], [1, 2, 1], [1, 2, 2]])
    np.testing.assert_array_equal(memory.values, [[0, 0], [1, 0], [0, 1]])
    scheme = anytime(status=TableStatus(memory), welfare=Utilitarian())
    actions = ["none", "gotA", "none", "gotB"]
    assert scheme.score(Trace(rewards=np.zeros((4, 2)), actions=actions)) == 0.75


def test_on_jax_under_jit_and_vmap():
    length = 9

    def label(step):  # in jax.numpy: an index, not a word
        return jnp.where(step.rewards[0] > 0, 0, jnp.where(step.rewards[1] > 0, 1, 2))

    events = Events(labels=GOT.labels, label=label)
    languages = ["none*", ".* gotA none*", ".* gotB none*"]
    memory = ValueRegular(
        values=[[0, 0], [1, 0], [0, 1]], languages=languages, events=events
    ).memory()

    def final(rewards):
        def body(state, r):
            return memory.update(state, Step(None, r)), None

        state, _ = jax.lax.scan(body, jnp.asarray(memory.init(2)), rewards)
        return state, memory.implied_status(state)

    choices = np.random.default_rng(0).integers(0, 3, size=(50, length))
    rewards = np.vstack((np.eye(2), np.zeros((1, 2))))[choices]
    states, values = jax.jit(jax.vmap(final))(rewards)
    assert states.dtype == jnp.int32
    for row, state, value in zip(choices, states, values, strict=True):
        assert memory.after(GOT.labels[i] for i in row) == state
        np.testing.assert_array_equal(value, memory.values[state])
    # m_init is NumPy's even where the first step is already JAX's.
    first = jax.jit(lambda rewards: memory.update(memory.init(2), Step(None, rewards)))
    assert int(first(jnp.array([0.0, 1.0]))) == 2
    # And the event may be NumPy's where the memory is traced.
    fixed = jax.jit(lambda state: memory.update(state, Step(None, np.array([1.0, 0.0]))))
    assert int(fixed(jnp.asarray(0))) == 1


def test_numpy_and_jax_label_rewards_alike():
    events = Events.of_rewards([[1, 0], [0, 1], [0, 0]], labels=GOT.labels)
    memory = ValueRegular(
        values=[[0, 0], [1, 0], [0, 1]],
        languages=["none*", ".* gotA none*", ".* gotB none*"],
        events=events,
    ).memory()
    for rewards in ([1.0, 0.0], [0.0, 1.0], [0.0, 0.0]):
        step, traced = Step(None, np.array(rewards)), Step(None, jnp.array(rewards))
        assert memory.update(memory.init(2), step) == jax.jit(lambda m, s: memory.update(m, s))(
            memory.init(2), traced
        )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_in_a_problem_the_status_is_markovian(seed):
    rng = np.random.default_rng(seed)
    states, actions = 2, 2
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    mdp = FiniteMDP(0, transitions, np.zeros((states, actions, states, 1)))
    events = Events.of_pairs(actions, states)
    table = rng.integers(0, 3, size=(3, 4))
    automata = [dfa_of(table, [q], events.labels).minify() for q in range(3)]
    regular = ValueRegular(values=[[0], [1], [2]], languages=automata, events=events)
    memory = regular.memory()
    trace = rollout(mdp, MarkovPolicy(lambda state: int(rng.integers(actions))), 12, rng)
    string, state = [], memory.init(1)
    for step in trace.steps():
        string.append(f"{step.action},{step.next_state}")
        state = memory.update(state, step)
        assert memory.implied_status(state) == [run(table, string, events.labels)]
        np.testing.assert_array_equal(memory.implied_status(state), regular.status_after(string))


@given(moore_machines(max_states=3), moore_machines(max_states=3))
def test_what_is_no_partition_is_refused_with_a_shortest_witness(one, other):
    automata = [
        dfa_of(table, places(outputs, v), AB.labels, initial)
        for v, (table, outputs, initial) in enumerate((one, other))
    ]

    def accepted_by(string):
        return tuple(i for i, dfa in enumerate(automata) if dfa.accepts_input(string))

    # The product has at most 9 states, so that strings of up to 8 events reach all of it.
    bad = next((s for s in strings(AB.labels, 8) if len(accepted_by(s)) != 1), None)
    if bad is None:
        ValueRegular(values=[[0], [1]], languages=automata, events=AB)
        return
    with pytest.raises(NotAPartition) as caught:
        ValueRegular(values=[[0], [1]], languages=automata, events=AB)
    assert len(caught.value.witness) == len(bad)
    assert caught.value.accepted_by == accepted_by(caught.value.witness)
    assert len(caught.value.accepted_by) != 1


def test_the_witness_is_told():
    with pytest.raises(NotAPartition, match=r"the string 'b b' is in none of the 2 languages"):
        ValueRegular(values=[[0], [1]], languages=["a* b?", ".* b a .*"], events=AB)
    with pytest.raises(
        NotAPartition,
        match=r"'a b' is in languages 0 \(value \[0\.0\]\) and 1 \(value \[1\.0\]\): .*narrow",
    ) as caught:
        ValueRegular(values=[[0], [1]], languages=["(. .)*", "a b | . (. .)*"], events=AB)
    assert caught.value.witness == ("a", "b")
    assert caught.value.accepted_by == (0, 1)
    with pytest.raises(NotAPartition, match="the empty string is in none"):
        ValueRegular(values=[[0]], languages=[".+"], events=AB)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("gotA gotC", r"'gotA gotC': there is no event 'gotC': did you mean 'got[AB]'\?"),
        ("(gotA", r"'\(gotA' cannot be read: "),
        ("gotA | ", r"cannot be read"),
        ("* gotA", r"cannot be read"),
        ("gotA 'got", r"has a quote that does not end, at character 4"),
        ("  ", r"is empty: write \(\) where nothing has happened"),
        ("zzzz", r"there are gotA, gotB, none"),
        ("''", r"there is no event ''"),
    ],
)
def test_expressions_that_cannot_be_read(expression, message):
    with pytest.raises(BadExpression, match=message):
        automaton_of(expression, GOT)


def test_value_regular_is_validated_when_built():
    with pytest.raises(UnequalLengths, match="1 languages for 2 values: give one each"):
        ValueRegular(values=[[0], [1]], languages=[".*"], events=AB)
    with pytest.raises(BadParameter, match=r"the value \[1\.0\] is given twice: join"):
        ValueRegular(values=[[1], [1]], languages=["()", ".+"], events=AB)
    with pytest.raises(UnequalLengths, match=r"values have shape \(2,\)"):
        ValueRegular(values=[0, 1], languages=["()", ".+"], events=AB)
    foreign = DFA.universal_language({"a", "c"})
    with pytest.raises(BadParameter, match="differ on 'b': its input symbols must be the labels"):
        ValueRegular(values=[[0]], languages=[foreign], events=AB)
    with pytest.raises(BadParameter, match="a language is a NFA: give a regular expression"):
        ValueRegular(values=[[0]], languages=[NFA.from_regex("a")], events=AB)
    with pytest.raises(DoesNotClose, match="the product of the automata does not close"):
        ValueRegular(values=[[0], [1]], languages=["()", ".+"], events=AB, max_states=1)
    everything = ValueRegular(values=[[0]], languages=[".*"], events=AB)
    with pytest.raises(UnknownEvent, match="there is no event 'c'"):
        everything.status_after(["c"])
    with pytest.raises(AttributeError):
        everything.values = [[1]]
    with pytest.raises(ValueError, match="read-only"):
        everything.values[0] = 1


def test_events_are_validated():
    with pytest.raises(BadParameter, match="there are no labels"):
        Events(labels=(), label=str)
    with pytest.raises(BadParameter, match="the label 'a' is given twice"):
        Events(labels=("a", "a"), label=str)
    with pytest.raises(BadParameter, match="the label 1 is not a word"):
        Events(labels=(1,), label=str)
    step = Step("b", np.zeros(1))
    with pytest.raises(UnequalLengths, match="1 steps for 2 labels"):
        Events(labels=("a", "b"), label=lambda s: s.action, steps=(step,))
    with pytest.raises(BadParameter, match="the step given for 'a' is labelled 'b'"):
        Events(labels=("a", "b"), label=lambda s: s.action, steps=(step, step))
    with pytest.raises(BadParameter, match="labels but no steps: pass steps="):
        AB.require_steps()
    with pytest.raises(UnknownEvent, match="there is no event 'gotC': did you mean"):
        GOT.index(Step("gotC", np.zeros(2)))
    with pytest.raises(UnknownEvent, match=r"returned index 3, but there are 3 labels \(0 to 2\)"):
        GOT.index(Step(3, np.zeros(2)))
    with pytest.raises(UnknownEvent, match="returned index -1"):
        GOT.index(Step(np.int64(-1), np.zeros(2)))
    with pytest.raises(UnknownEvent, match=r"it must return a label or the index"):
        GOT.index(Step(np.float64(1), np.zeros(2)))
    with pytest.raises(UnknownEvent, match=r"returned array\(None, dtype=object\)"):
        GOT.index(Step(None, np.zeros(2)))
    with pytest.raises(UnknownEvent, match=r"rewards \[0\. 3\.\], which are not among the events"):
        Events.of_rewards([[1, 0]]).index(Step(None, np.array([0.0, 3.0])))
    with pytest.raises(UnequalLengths, match=r"rewards have shape \(2,\)"):
        Events.of_rewards([1, 0])


def test_table_memories_are_validated():
    good = {"initial": 0, "table": [[0, 1], [1, 1]], "events": AB, "num_stakeholders": 1}
    memory = TableMemory(**good)
    assert memory.implied_status(memory.init(1)) is None
    assert memory.describe() == "one of 2 states of an automaton over 2 events"
    with pytest.raises(BadParameter, match="made for 1 stakeholders, not for 2"):
        memory.init(2)
    with pytest.raises(BadParameter, match="this memory has no values: it stands for no status"):
        TableStatus(memory)
    with pytest.raises(BadParameter, match=r"from memory state 1 event 0 leads to 2: .* 0 to 1"):
        TableMemory(**good | {"table": [[0, 1], [2, 1]]})
    with pytest.raises(BadParameter, match="the initial memory state is 2"):
        TableMemory(**good | {"initial": 2})
    with pytest.raises(UnequalLengths, match="1 columns for 2 events"):
        TableMemory(**good | {"table": [[0], [0]]})
    with pytest.raises(UnequalLengths, match="expected whole numbers"):
        TableMemory(**good | {"table": [[0.5, 0], [0, 0]]})
    with pytest.raises(UnequalLengths, match="one status vector for each of the 2 memory states"):
        TableMemory(**good, values=[[0]])


def test_a_window_as_expressions():
    """ "Got something in the last step" written by hand, against the built-in window."""
    events = Events.of_rewards([[1, 0], [0, 1], [0, 0]], labels=GOT.labels)
    regular = ValueRegular(
        values=[[0, 0], [1, 0], [0, 1]],
        languages=["() | .* none", ".* gotA", ".* gotB"],
        events=events,
    )
    window = Window(1)
    for string in strings(GOT.labels, 4):
        state = window.init(2)
        for label in string:
            state = window.update(state, events.require_steps()[events.position(label)])
        np.testing.assert_array_equal(regular.status_after(string), window.value(state))
