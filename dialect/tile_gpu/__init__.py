"""The dialect tile_gpu: the machine made explicit, still on tiles."""
