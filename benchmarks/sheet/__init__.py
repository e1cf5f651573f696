"""The parts of machine_code.py: kernels, compilers, and what is counted in their machine code."""
