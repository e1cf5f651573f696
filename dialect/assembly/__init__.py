"""Tile IR assembly: reader and printer, driven by the `assembly` line of each operation."""
