"""tile_gpu to ptx: one file a chapter of operations, found through the registry in lowers.py."""
