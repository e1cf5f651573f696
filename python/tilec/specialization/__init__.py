"""Derives signatures of kernels from the arguments of a call and from text."""
