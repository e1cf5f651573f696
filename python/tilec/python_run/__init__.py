"""Kernels that Python executes statement by statement, so that a debugger can stop in them."""
