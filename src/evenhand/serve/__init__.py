"""`evenhand serve`: who is next, and why. A durable log of decisions, and an API in front of it.

`store/` keeps the log, `pools/` folds it into who is next, `api/` answers over HTTP.
"""
