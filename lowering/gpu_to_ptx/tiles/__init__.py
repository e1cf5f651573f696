"""Layouts, reductions, scans, parts of tiles: elements move between threads. Imports registers to arithmetic."""
