"""A log: who received what when, who was there, entitled, had asked. Read once, from any source."""
