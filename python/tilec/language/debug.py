"""Printing from kernels."""

from __future__ import annotations

from tilec.language.stub import kernel_function


@kernel_function
def printf(format, *args):
    """Print tiles by a constant format as of C's printf, one directive per tile."""


@kernel_function
def print(*args, sep=" ", end="\n"):
    """Print text, f-strings and tiles; also Python's `print` in a kernel."""
