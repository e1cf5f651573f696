"""Roles, order and ring depths of a loop as one constraint problem: the problem, its solvers, and its verifier."""
