"""To be imported first by the packages that need jax: a plain sentence where it is missing.

Nothing is loaded, only looked for: what such a package exports may still be loaded when first used.
"""

from __future__ import annotations

from evenhand._util.registry import require_packages

require_packages("jax")
