"""Arithmetic, functions and conversions of element types. Imports registers and memory."""
