"""Our environments by the names that Gymnasium knows: `gymnasium.make("evenhand/Doughnuts-v0")`.

Gymnasium loads no plugins since its version 1: what is registered is what was imported. So
`import evenhand.interop` registers ours, and so does the first part of an id such as
"evenhand.interop:evenhand/Doughnuts-v0". Nothing here loads jax.
"""

from __future__ import annotations

# The name with Gymnasium, and the one in `envs.ENVIRONMENTS`.
REGISTERED = {
    "Doughnuts": "doughnuts",
    "Lending": "lending",
    "GaussianLending": "lending_gaussian",
    "Vaccines": "vaccines",
    "WaitingList": "waiting_list",
    "Shifts": "shifts",
    "Crates": "crates",
    "Boosters": "boosters",
    "Triage": "triage",
    "Jobs": "jobs",
}


def register_environments() -> None:
    """Register every environment, with a scalar reward and (MO-…) with one per stakeholder."""
    from gymnasium.envs.registration import register, registry

    for name, world in REGISTERED.items():
        for prefix, form in (("", "WorldEnv"), ("MO-", "VectorRewardEnv")):
            known = f"evenhand/{prefix}{name}-v0"
            if known not in registry:
                register(
                    id=known,
                    entry_point=f"evenhand.interop.gymnasium.environments:{form}",
                    vector_entry_point=f"evenhand.interop.gymnasium.environments:{form}s",
                    kwargs={"world": world},
                )
