"""Chance: would a fair lottery among those eligible have done the same?"""
