"""Benchmarks: `make bench`. Speed is told as a ratio within one run, for machines are noisy."""
