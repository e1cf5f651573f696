"""Precise functions of floats: CUDA's own device functions, compiled to PTX by NVRTC."""
