"""The time of one decision with its update as stakeholders grow: no faster than their number.

Doughnuts with the default recipe, one seed; and imagining 8 memories, drawn. The sizes are measured
in turn, several times over, and the quickest of each counts: ratios hold on a busy machine too.
"""

from __future__ import annotations

import time

NUMBERS = (5, 10, 20, 50)
STEPS, ROUNDS = 200, 5


def main() -> None:
    import jax

    from benchmarks.studies.many import shop_for
    from evenhand.learn.imagined_memories import NoProposal, SomeAbove
    from evenhand.learn.recipe import default_learner
    from evenhand.learn.schedules import seed_keys, start_learners
    from evenhand.problem.problem import Problem

    for proposal in (NoProposal(), SomeAbove(8)):
        runs = {}
        for number in NUMBERS:
            shop = shop_for(number)
            problem = Problem(shop, shop.default_scheme())
            agent = default_learner(problem, steps=10_000, proposal=proposal, warm_up=1)
            learners = agent.train_steps(start_learners(agent, seed_keys([0])), 2)
            runs[number] = [agent, jax.block_until_ready(learners), float("inf")]
        for _ in range(ROUNDS):
            for run in runs.values():
                agent, learners, quickest = run
                started = time.perf_counter()
                learners = jax.block_until_ready(agent.train_steps(learners, STEPS))
                took = (time.perf_counter() - started) / STEPS
                run[1:] = learners, min(quickest, took)
        first = runs[NUMBERS[0]][2]
        print(f"imagining {proposal.describe()}:")
        for number, (_, _, took) in runs.items():
            print(
                f"  {number:3} customers: {1e6 * took:8,.0f} µs, {took / first:5.2f} times as long "
                f"for {number / NUMBERS[0]:.0f} times as many"
            )


if __name__ == "__main__":
    main()
