"""The dialect class `ptx`, to which operations are attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilec.dialect.mlir import ext

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Dialect
else:
    Dialect = ext.Dialect


class Ptx(Dialect, name="ptx"):
    """One operation is one PTX instruction; registers are values of builtin types (registers.py)."""
