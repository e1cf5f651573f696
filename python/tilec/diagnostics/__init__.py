"""Errors at the boundary to the user."""
