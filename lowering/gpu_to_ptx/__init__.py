"""tile_gpu to ptx: one file per op group, found through the registry in lowers.py."""
