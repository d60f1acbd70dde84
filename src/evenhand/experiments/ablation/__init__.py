"""What each part of the default recipe is worth, and how learning compares with simple rules."""
