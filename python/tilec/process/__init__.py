"""State of the Python process that a compile changes for a while: recursion limit, garbage collector."""
