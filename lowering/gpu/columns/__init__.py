"""Passes that read, compute and store accumulators and operands in parts of their columns. Import ir to roles."""
