"""Builds the operations of each language function."""
