"""The operations of `cuda_tile`, by group."""
