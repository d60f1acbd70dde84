"""Audit: a decision log in, an answer out. Was it fair all along, and to whom was it not?"""

from evenhand.auditing.answer.answer import Answer
from evenhand.auditing.audit_log import audit
from evenhand.auditing.compare_logs import LogComparison, compare
from evenhand.auditing.options import AuditOptions

__all__ = ["Answer", "AuditOptions", "LogComparison", "audit", "compare"]
