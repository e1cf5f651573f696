"""State of the Python process that a compile changes temporarily: recursion limit, garbage collector."""
