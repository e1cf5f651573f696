"""The conversion of each operation, one file per group. Imports conversion."""
