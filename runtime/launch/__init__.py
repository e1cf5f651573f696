"""Launches of artifacts on a GPU through the CUDA driver, and the plans of native launches."""
