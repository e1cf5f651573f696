"""PTX, per thread: one operation is one instruction."""
