"""Mutation testing: small mistakes are put into the code one at a time; a test must notice each."""
