"""Experiments: recipes, runs that can be stopped and resumed, comparisons and their charts."""
