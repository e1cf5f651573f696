"""The stages of a compile as one table, what a compile returns, and the backends that run it."""
