"""Matrix multiplies of each unit: dot, mma.sync, wgmma, tcgen05. Imports registers to tiles."""
