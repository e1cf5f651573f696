"""Runs the tests of NVIDIA's TileGym on arrays in host memory, with tilec as cuda.tile and the simulator as GPU."""
