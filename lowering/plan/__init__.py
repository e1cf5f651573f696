"""The decisions for a whole kernel before it is converted: facts of Tile IR, units, CTAs, warps, accesses."""
