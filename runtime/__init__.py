"""Execution of compiled kernels: simulator, interpreter, GPU launch."""
