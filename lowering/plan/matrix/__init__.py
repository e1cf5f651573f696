"""Which unit does each multiply, and where its operands and sums are. Imports access."""
