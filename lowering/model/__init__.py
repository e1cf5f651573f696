"""The limits of each target, and the cycles that work takes at least."""
