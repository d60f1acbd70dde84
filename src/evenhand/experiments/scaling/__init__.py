"""How learning grows with the number of stakeholders, and which imagined memories pay."""
