"""The operations of Tile IR, by group."""
