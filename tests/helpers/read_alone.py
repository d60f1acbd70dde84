"""An audit for tests of how a log is read: whether chance could have done it is not asked."""

from __future__ import annotations

import functools

import evenhand

audit = functools.partial(evenhand.audit, chance=False)
