"""Assembly of tile_gpu and ptx, with the upstream operations that stand among theirs."""
