"""A reference interpreter of Tile IR in numpy: every operation as the manual defines it, one tile block at a time."""
