"""From a module of `cuda_tile` to the sections of bytecode."""
