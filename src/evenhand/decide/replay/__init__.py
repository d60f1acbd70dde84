"""Replay: a log's supply and requests decided anew by other rules, and what is to come."""
