"""How tests compile: many small functions that run but once are not worth optimising.

What one process has compiled the others find, and the next run of the tests too.
"""

from __future__ import annotations

import os

from evenhand._util.compile_cache import machine_name
from places import ROOT

SETTINGS = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
    "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".jax_cache" / machine_name()),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    # Where each operation comes from in the source costs time to write down, and nobody reads it.
    "JAX_TRACEBACK_IN_LOCATIONS_LIMIT": "0",
}


def compile_fast() -> None:
    """To be called before jax is imported, which reads these variables then."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
