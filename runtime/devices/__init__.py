"""CUDA devices, calls of the driver, memory of devices, and streams."""
