"""Layouts as linear maps over bits: registers of threads, shared memory and tensor memory, in one algebra."""
