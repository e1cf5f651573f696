"""From a Python syntax tree to a verified `cuda_tile` module."""
