"""Rules: who is next, each with a memory, an index and its reasons."""
