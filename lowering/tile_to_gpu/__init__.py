"""From Tile IR to tile_gpu: layouts, instruction choice, buffers and channels."""
