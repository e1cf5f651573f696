"""Compiled kernels as files: artifacts with launch metadata, and folders of kernels with an index."""
