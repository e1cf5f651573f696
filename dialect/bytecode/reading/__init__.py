"""From the sections of bytecode to a module of `cuda_tile`."""
