"""The dialects: Tile IR, the machine on tiles, and PTX."""
