"""Tests compile many small functions that run but once: not worth optimising."""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
