"""Passes and analyses on Tile IR."""
