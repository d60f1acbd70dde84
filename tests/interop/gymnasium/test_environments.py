"""Our environments for Gymnasium: its own checks, their dynamics, their pictures."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from evenhand.envs import Doughnuts
from evenhand.errors import BadParameter, NotReset, UnequalLengths
from evenhand.interop.gymnasium import REGISTERED
from evenhand.interop.gymnasium.environments import FAINT, PRESENT, SERVED, Scene, short

NAMES = sorted(REGISTERED)


@pytest.mark.system
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mode", ["ansi", "rgb_array"])
def test_it_passes_gymnasiums_own_checks(name, mode):
    check_env(gymnasium.make(f"evenhand/{name}-v0", render_mode=mode).unwrapped)


def test_to_import_evenhand_loads_nothing_and_hooks_into_nothing():
    code = (
        "import sys\n"
        "before = list(sys.meta_path)\n"
        "import evenhand\n"
        "for heavy in ('jax', 'numpy', 'gymnasium'): assert heavy not in sys.modules, heavy\n"
        "assert sys.meta_path == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "order", ["import gymnasium, evenhand.interop", "import evenhand.interop, gymnasium"]
)
def test_to_import_the_bridges_is_enough_and_does_not_load_jax(order):
    code = (
        f"{order}\n"
        "import sys\n"
        "assert gymnasium.spec('evenhand/Doughnuts-v0').id == 'evenhand/Doughnuts-v0'\n"
        "assert 'evenhand/MO-Lending-v0' in gymnasium.registry\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.system  # takes seconds
def test_gymnasium_finds_it_where_nothing_was_imported():
    code = (
        "import gymnasium\n"
        "assert 'evenhand/Doughnuts-v0' not in gymnasium.registry\n"
        "gymnasium.make('evenhand.interop:evenhand/Doughnuts-v0')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_doughnuts_by_hand():
    env = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=4, presence=(1, 0))
    observation, info = env.reset(seed=3)
    assert observation.tolist() == [1.0, 0.0]
    assert info["stakeholder_rewards"].tolist() == [0.0, 0.0]
    _, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (1.0, False, False)
    assert info["stakeholder_rewards"].tolist() == [1.0, 0.0]
    assert not info["overridden"]
    _, reward, *_, info = env.step(1)  # who is never there
    assert reward == 0.0
    assert info["overridden"]
    assert info["override"] == 0.0
    env.step(0)
    assert env.step(0)[2]  # the last of four


def test_the_vector_reward_is_the_reward():
    env = gymnasium.make("evenhand/MO-Doughnuts-v0", num_stakeholders=2, presence=1.0)
    env.reset(seed=0)
    reward = env.unwrapped.step(1)[1]
    assert reward.tolist() == [0.0, 1.0]
    assert env.get_wrapper_attr("reward_space").contains(reward)
    assert env.get_wrapper_attr("reward_dim") == 2


def test_side_by_side_episodes_begin_anew_with_the_step_after_their_last():
    shops = {"num_stakeholders": 2, "horizon": 2, "presence": 1.0}
    envs = gymnasium.make_vec("evenhand/Doughnuts-v0", num_envs=3, **shops)
    observations, _ = envs.reset(seed=0)
    assert observations.shape == (3, 2)
    choices = np.array([0, 1, 1])
    rows = [envs.step(choices) for _ in range(4)]
    assert [row[1].tolist() for row in rows] == [[1.0] * 3, [1.0] * 3, [0.0] * 3, [1.0] * 3]
    assert [bool(row[2].all()) for row in rows] == [False, True, False, False]
    assert rows[0][4]["stakeholder_rewards"].tolist() == [[1, 0], [0, 1], [0, 1]]
    assert rows[2][4]["_stakeholder_rewards"].tolist() == [False] * 3
    assert not any(row[3].any() for row in rows)


def test_side_by_side_has_the_same_chances_and_vector_rewards():
    envs = gymnasium.make_vec("evenhand/MO-Doughnuts-v0", num_envs=500, presence=0.8)
    observations, _ = envs.reset(seed=1)
    assert abs(observations.mean() - 0.8) < 4 * 0.4 / np.sqrt(2500)
    again, _ = envs.reset(seed=1)
    assert (again == observations).all()
    assert envs.step(np.zeros(500, dtype=int))[1].shape == (500, 5)


def test_pictures_show_who_is_there_and_what_each_has_had():
    scene = Scene(
        3, 4, np.array([True, False]), np.array([2.0, 1.0]), served=np.array([True, False])
    )
    assert scene.text() == (
        "step 3 of 4\n● " + " 0 " + "█" * 20 + " 2 ←\n○ " + " 1 " + f"{'█' * 10:<20} 1\n"
    )
    image = scene.picture()
    first, second = image[:, :48], image[:, 48:]
    count = lambda part, colour: int((part == colour).all(axis=-1).sum())  # noqa: E731
    assert count(first, PRESENT) > 100
    assert count(second, PRESENT) == 0
    assert count(second[:30], FAINT) > 100
    assert count(first, SERVED) == 28 * 100  # a bar of full height
    assert [short(x) for x in (17, 2.5, 40_000, 1_200_000)] == ["17", "2.5", "40k", "1.2M"]


def test_what_is_wrong_is_said():
    with pytest.raises(BadParameter, match="ansi and rgb_array"):
        gymnasium.make("evenhand/Doughnuts-v0").unwrapped.__class__(render_mode="film")
    with pytest.raises(BadParameter, match="cannot be built"):
        gymnasium.make("evenhand/Doughnuts-v0", customers=2)
    with pytest.raises(BadParameter, match="built already"):
        gymnasium.make("evenhand/Doughnuts-v0", world=Doughnuts(2, 2, 1.0), horizon=3)
    env = gymnasium.make("evenhand/Doughnuts-v0", num_stakeholders=2, horizon=1).unwrapped
    with pytest.raises(NotReset, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(BadParameter, match="action 2 does not exist"):
        env.step(2)
    env.step(0)
    with pytest.raises(NotReset, match="is over"):
        env.step(0)
    envs = gymnasium.make_vec("evenhand/Doughnuts-v0", num_envs=2)
    with pytest.raises(NotReset, match="not begun"):
        envs.step([0, 0])
    envs.reset(seed=0)
    with pytest.raises(UnequalLengths, match="one each"):
        envs.step([0])
    with pytest.raises(BadParameter, match="from 0 to 4"):
        envs.step([0, 5])
