"""How it is solved by experience: sections 5.2 and 5.3."""
