"""Decide: who is next, what other rules would have done with a log, and the best there was."""
