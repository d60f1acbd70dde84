"""Audit: a decision log in, an answer out. Was it fair all along, and to whom was it not?"""

from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.answer.comparison import Comparison, compare
from evenhand.auditing.audit_log import audit

__all__ = ["Answer", "Comparison", "audit", "compare"]
