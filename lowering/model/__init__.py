"""The limits of each target, and the least number of cycles that work takes."""
