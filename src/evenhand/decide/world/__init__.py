"""Decision 19: a world made from a log, for policies to be learned in."""
