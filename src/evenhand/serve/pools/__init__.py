"""Pools: a rule and its stakeholders, whose state is a fold over the log."""
