"""The dialect of Tile IR, 13.1 to 13.5: types, operations and their rules, one file per op group."""
