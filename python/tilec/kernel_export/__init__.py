"""Kernels compiled ahead of time for explicit signatures: constraints, symbols and files."""
