"""Learned and planned policies as rules: who is next, by what each choice is worth to them."""
