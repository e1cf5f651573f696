"""The language functions that kernels call, by group: signatures and docstrings."""
