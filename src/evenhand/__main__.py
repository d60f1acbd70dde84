"""`python -m evenhand` is `evenhand`."""

from evenhand.cli import main

main()
