"""The operations of `tile_gpu`, by group."""
