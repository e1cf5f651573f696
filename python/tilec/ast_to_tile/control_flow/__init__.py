"""Branches, loops and exits of kernels: the names that they merge and carry, and the order of memory accesses."""
