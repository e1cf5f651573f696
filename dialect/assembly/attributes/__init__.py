"""Attributes and locations of operations as text, in both directions."""
