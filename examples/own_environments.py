"""Three environments of one's own: simple rules, and the default learner beside them.

python examples/own_environments.py                       the rules, and decisions at random
python examples/own_environments.py --learn 20000         and what is learned in so many steps
"""

import argparse

import duty_rota
import food_truck
import gpu_cluster
import numpy as np

from evenhand.fairness.trace import Step
from evenhand.interop import gymnasium_learner, score_side_by_side, train

WORLDS = {
    "eight users and two GPUs": (gpu_cluster, gpu_cluster.GpuCluster),
    "a rota of ten with waiting times": (duty_rota, duty_rota.DutyRota),
    "a food truck with twelve sites": (food_truck, food_truck.FoodTruck),
}


def rule_score(env, scheme, rule, seed):
    """The score of one episode in which a rule decides."""
    # As the learner's episodes begin, so that rules and learners are scored on the same ones.
    env.reset(seed=int(np.random.default_rng(seed).integers(2**31)))
    status, score, over = scheme.status.init(env.num_stakeholders), 0.0, False
    while not over:
        *_, terminated, truncated, info = env.step(rule(env))
        step = Step(0, info["stakeholder_rewards"], None)
        status = scheme.status.update(status, step)
        score += float(scheme.contribution(scheme.status.value(status)))
        over = terminated or truncated
    return score


def rule_scores(module, make, episodes, seed):
    """The mean scores of each rule, and of decisions at random."""
    rng = np.random.default_rng(seed)
    rules = module.RULES | {"at random": lambda env: int(rng.integers(env.action_space.n))}
    seeds = np.random.SeedSequence(seed).spawn(episodes)
    env = make()
    return {
        name: np.mean([rule_score(env, module.SCHEME, rule, one) for one in seeds])
        for name, rule in rules.items()
    }


def learned_scores(module, make, steps, learners, episodes, seed):
    """The mean score of each of several learners, after so many steps with all defaults."""
    more, tests = [[make() for _ in range(learners - k)] for k in (1, 0)]
    loop = gymnasium_learner(make(), module.SCHEME, steps=steps, beside=more)
    train(loop, steps - loop.steps, test_env=tests, checkpoints=4, episodes=40)
    return score_side_by_side(loop, tests, episodes, seed).mean(axis=0)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--learn", type=int, metavar="STEPS", help="how many steps to learn from")
    options.add_argument("--seeds", type=int, default=10, help="how many learners, side by side")
    options.add_argument("--episodes", type=int, default=20, help="that a score is the mean of")
    options.add_argument("--only", choices=[module.__name__ for module, _ in WORLDS.values()])
    chosen = options.parse_args()
    for name, (module, make) in WORLDS.items():
        if chosen.only not in (None, module.__name__):
            continue
        print(name)
        for rule, score in rule_scores(module, make, chosen.episodes, seed=7).items():
            print(f"  {rule:32} {score:9,.1f}")
        if chosen.learn:
            scores = learned_scores(
                module, make, chosen.learn, chosen.seeds, chosen.episodes, seed=7
            )
            apart = f"{scores.min():,.1f} to {scores.max():,.1f}, {chosen.seeds} seeds"
            print(f"  {'learned, all defaults':32} {scores.mean():9,.1f}   ({apart})", flush=True)


if __name__ == "__main__":
    main()
