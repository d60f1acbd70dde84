"""The best there was: how fair the same supply could have been shared, with a certified bound."""
