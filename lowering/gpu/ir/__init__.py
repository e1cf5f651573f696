"""Queries about the code of a kernel: uses of values, slots, memory, effects, sizes of tiles. Imports the dialect."""
