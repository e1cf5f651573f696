"""What runs a compiled kernel: simulator, interpreter, GPU."""
