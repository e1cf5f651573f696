"""From Tile IR to tile_gpu: an entry and its plan enter, a kernel of values with layouts, units and memories leaves.

`access` has the facts from which lowering/plan decides; `conversion` and `ops` follow the plan.
"""
