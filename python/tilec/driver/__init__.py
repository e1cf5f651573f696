"""The table of the stages of a compile, the results of a compile, and the backends that run them."""
