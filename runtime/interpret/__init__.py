"""The meaning of Tile IR in numpy: every operation as the manual states it, one tile block after another."""
