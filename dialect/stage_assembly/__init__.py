"""Assembly of tile_gpu and ptx modules, including upstream operations."""
