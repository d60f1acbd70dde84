"""Seeds side by side, over all cores: a compiled function on a leading axis of seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
from jax.sharding import Mesh, PartitionSpec


def side_by_side(function: Callable[..., Any], donate: bool = False) -> Callable[..., Any]:
    """Compile function(learners, number), its learners spread over as many devices as divide them.

    The number is static if it is a Python integer. Seeds do not speak to each other, so that each
    device goes through its own loop. `use_cores` makes each core a device.
    """

    @cache
    def compiled(devices: int, static: bool) -> Callable[..., Any]:
        def spread(learners: Any, number: Any) -> Any:
            if devices == 1:
                return function(learners, number)
            mesh = Mesh(jax.devices()[:devices], ("seed",))
            by_seed, same = PartitionSpec("seed"), PartitionSpec()
            if static:
                part = partial(_with_number, function, number)
                return jax.shard_map(
                    part, mesh=mesh, in_specs=by_seed, out_specs=by_seed, check_vma=False
                )(learners)
            return jax.shard_map(
                function, mesh=mesh, in_specs=(by_seed, same), out_specs=by_seed, check_vma=False
            )(learners, number)

        return jax.jit(
            spread, static_argnums=1 if static else None, donate_argnums=0 if donate else None
        )

    def run(learners: Any, number: Any) -> Any:
        seeds = jax.tree.leaves(learners)[0].shape[0]
        devices = max(k for k in range(1, jax.device_count() + 1) if seeds % k == 0)
        return compiled(devices, isinstance(number, int))(learners, number)

    return run


def use_cores(number: int) -> None:
    """Make each of so many cores a device. Has no effect once JAX has begun to compute."""
    import contextlib

    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", number)


def _with_number(function: Callable[..., Any], number: int, learners: Any) -> Any:
    return function(learners, number)
