"""To be imported first by the packages that need jax: a plain sentence where it is missing.

Nothing is loaded, only looked for: what such a package exports may still be loaded when first used.
"""

from __future__ import annotations

from importlib.util import find_spec

from evenhand._util.extras import missing_extra

if find_spec("jax") is None:
    raise missing_extra(ModuleNotFoundError(name="jax")) or AssertionError("jax is in an extra")
