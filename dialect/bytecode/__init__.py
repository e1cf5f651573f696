"""Tile IR bytecode, versions 13.1 to 13.5: the file format of NVIDIA's tools, read and written."""
