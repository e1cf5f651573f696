"""The unit of each multiply, and the memory of its operands and accumulator. Imports access."""
