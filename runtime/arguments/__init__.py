"""The Python arguments of a kernel, and the values of its entry arguments."""
