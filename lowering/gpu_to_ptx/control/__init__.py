"""Control flow, the grid, output and assertions. Imports registers to tiles."""
