"""The namespace `ptx`; operations attach themselves to it."""

from __future__ import annotations

from tilec.dialect.mlir import ext


class Ptx(ext.Dialect, name="ptx"):
    """One operation is one PTX instruction; registers are values of builtin types (registers.py)."""
