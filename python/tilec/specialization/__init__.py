"""Signatures of kernels: from a call's arguments and from text."""
