"""SB3's DQN without and with imagined experience, our host loop, our compiled loop.

For correct times run it on an idle machine; the scores do not depend on other load.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

SEEDS = 5
SHOP = {"num_stakeholders": 5, "horizon": 100, "presence": 0.8}
SMALL = {"num_stakeholders": 3, "horizon": 12, "presence": 0.8}
STEPS, BATCH, HIDDEN, EPISODES = 5000, 64, (64, 64), 20


def wrapped(settings: dict[str, Any], relative: bool = False) -> Any:
    import gymnasium

    from evenhand.interop import FairnessWrapper
    from evenhand.learn.deep.encoders import Relative

    env = gymnasium.make("evenhand/Doughnuts-v0", **settings)
    return FairnessWrapper(env, encoder=Relative()) if relative else FairnessWrapper(env)


def sb3(
    seed: int, imagines: bool, steps: int, settings: dict[str, Any], relative: bool = False
) -> tuple[Any, float]:
    """A trained model, and the seconds per step after learning has started."""
    from stable_baselines3 import DQN

    from evenhand.interop import fairness_of
    from evenhand.interop.sb3 import CounterfactualReplayBuffer
    from evenhand.learn.imagined_memories import Above

    env, more = wrapped(settings, relative), {}
    if imagines:
        kwargs = {"fairness": fairness_of(env), "proposal": Above(2)}
        more = {
            "replay_buffer_class": CounterfactualReplayBuffer,
            "replay_buffer_kwargs": kwargs,
        }
    model = DQN(
        "MlpPolicy",
        env,
        seed=seed,
        learning_starts=200,
        train_freq=1,
        batch_size=BATCH,
        buffer_size=20_000,
        learning_rate=1e-3,
        gamma=0.95,
        target_update_interval=200,
        exploration_fraction=0.5,
        policy_kwargs={"net_arch": list(HIDDEN)},
        **more,
    )
    model.learn(300)  # includes compilation
    started = time.perf_counter()
    model.learn(steps - 300, reset_num_timesteps=False)
    return model, (time.perf_counter() - started) / (steps - 300)


def score(model: Any, settings: dict[str, Any], relative: bool = False) -> float:
    from evenhand.interop import play

    env = wrapped(settings, relative)
    traces = play(env, lambda seen: int(model.predict(seen, deterministic=True)[0]), EPISODES)
    return float(np.mean([env.fairness.problem.scheme.score(trace) for trace in traces]))


def counterfactuals() -> None:
    """The wrapped doughnuts: the score at equal steps, and the time per step."""
    from evenhand._util.numbers import bootstrap_interval, interval_title

    variants = [(relative, imagines) for relative in (False, True) for imagines in (False, True)]
    found: dict[tuple[bool, bool], list[tuple[float, float]]] = {one: [] for one in variants}
    for seed in range(SEEDS):  # alternating, so that other load affects all of them
        for relative, imagines in variants:
            model, seconds = sb3(seed, imagines, STEPS, SHOP, relative)
            found[relative, imagines].append((score(model, SHOP, relative), seconds))
    costs = {}
    for (relative, imagines), rows in found.items():
        scores, seconds = np.array(rows).T
        low, high = bootstrap_interval(scores, np.random.default_rng(0))
        cost = costs[relative, imagines] = float(np.median(seconds))
        encoder = "encoder=Relative(), " if relative else ""
        name = encoder + ("imagining" if imagines else "plain")
        print(
            f"SB3 DQN {name}: score {scores.mean():.1f} ({interval_title(SEEDS)} {low:.1f} to "
            f"{high:.1f}) after {STEPS:,} steps; {1e3 * cost:.2f} ms per step",
            flush=True,
        )
    ratio = costs[False, True] / costs[False, False]
    print(f"cost of imagining: {ratio:.2f} times plain (target: at most 1.5)")


def host_agent(settings: dict[str, Any], seed: int, **more: Any) -> Any:
    import gymnasium

    from evenhand.interop import gymnasium_learner
    from evenhand.learn.deep.networks import MLP

    env = gymnasium.make("evenhand/Doughnuts-v0", **settings)
    scheme = env.unwrapped.world.default_scheme()
    parts = {"network": MLP(HIDDEN), "batch": BATCH, "warm_up": 200}
    return gymnasium_learner(env, scheme, seed=seed, **parts | more)


def host_speed() -> None:
    """Time per step at equal batch and network, in the same environment."""
    from evenhand.learn.imagined_memories import Above

    rows = {}
    for name, more in {"DQN": {}, "FairQCM": {"proposal": Above(2)}}.items():
        loop = host_agent(SHOP, 0, **more)
        loop.train_steps(500)
        started = time.perf_counter()
        loop.train_steps(3000)
        rows[name] = (time.perf_counter() - started) / 3000
    _, plain = sb3(0, False, 2000, SHOP)
    for name, seconds in rows.items():
        print(
            f"host loop {name}: {1e3 * seconds:.2f} ms per step, SB3 DQN {1e3 * plain:.2f} ms: "
            f"{plain / seconds:.1f} times as fast (target: 3)",
            flush=True,
        )


def same_curves() -> None:
    """The host loop and the compiled loop: the same agent in the same environment."""
    from dataclasses import replace

    import gymnasium
    import jax

    from evenhand._util.numbers import bootstrap_interval
    from evenhand.envs import Doughnuts
    from evenhand.interop import score_episodes
    from evenhand.problem.problem import Problem

    env = Doughnuts(**SMALL)
    marks, host = (500, 1000, 2000), []
    for seed in range(SEEDS):
        loop, curve, before = host_agent(SMALL, seed), [], 0
        other = gymnasium.make("evenhand/Doughnuts-v0", **SMALL)
        for mark in marks:
            loop.train_steps(mark - before)
            before = mark
            curve.append(score_episodes(loop, other, 100).mean())
        host.append(curve)
    agent = replace(loop.agent, problem=Problem(env, env.default_scheme()))
    learners = jax.vmap(agent.start)(jax.random.split(jax.random.key(0), SEEDS))
    before = 0
    for k, mark in enumerate(marks):
        learners = agent.train_steps(learners, mark - before)
        before = mark
        compiled = np.asarray(agent.evaluate(learners).score)
        line = f"after {mark:,} steps"
        for name, scores in {"host": np.array(host)[:, k], "compiled": compiled}.items():
            low, high = bootstrap_interval(scores, np.random.default_rng(0))
            line += f"; {name} {scores.mean():.2f} ({low:.2f} to {high:.2f})"
        print(line, flush=True)


def main() -> None:
    same_curves()
    try:
        import torch
    except ImportError:
        print("Stable-Baselines3 is not installed: make test-system installs it.")
        return
    torch.set_num_threads(1)  # networks this small are not faster on two
    host_speed()
    counterfactuals()


if __name__ == "__main__":
    main()
