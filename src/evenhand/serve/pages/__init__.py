"""The page: who is next and why, for people, made on the server from what the service answers."""
