"""Benchmarks: `make bench`. Speed is a ratio within one run, because machines are noisy."""
