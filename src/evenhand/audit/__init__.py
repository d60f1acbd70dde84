"""Audit: a decision log in, an answer out. Was it fair all along, and to whom was it not?"""

from evenhand.audit.answer import Answer
from evenhand.audit.auditing import audit
from evenhand.audit.side_by_side import Comparison, compare

__all__ = ["Answer", "Comparison", "audit", "compare"]
