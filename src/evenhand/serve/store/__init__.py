"""The log of decisions on disk: appended to, chained by digests, never changed."""
