"""tilec: an open compiler for GPU tile kernels."""
