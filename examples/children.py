"""Three children share 24 doughnuts: one at a time in turns, or eight at a time."""

import numpy as np

from evenhand import AfterEach, Equality, Mean, Trace, anytime, bounded, long_term

children = ("Ann", "Ben", "Cem")
by_turns = np.tile(np.eye(3), (8, 1))
eight_at_a_time = np.repeat(np.eye(3), 8, axis=0)

questions = {
    "equal at the end": long_term(Equality()),
    "equal after each dozen": bounded(AfterEach(12), Equality(), Mean()),
    "within one doughnut, always": anytime(Equality(tolerance=1), Mean()),
}
for name, rewards in {"by turns": by_turns, "eight at a time": eight_at_a_time}.items():
    trace = Trace(rewards=rewards, stakeholders=children)
    print(name)
    for question, scheme in questions.items():
        print(f"  {question}: {scheme.score(trace):.2f}")
    print(f"  overall unfairness: {anytime().assess(trace).overall_unfairness()}")
