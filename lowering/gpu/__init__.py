"""Passes on tile_gpu: roles, pipelines."""
