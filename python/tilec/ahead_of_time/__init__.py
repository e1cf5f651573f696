"""Compiles many kernels ahead of time, into one folder that `tilec.load` and C programs read."""
