"""From Tile IR to PTX text: layouts, passes, conversions."""
