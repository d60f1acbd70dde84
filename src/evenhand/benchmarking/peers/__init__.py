"""Learners that others have published, written from their papers as `DeepAgent`s."""
