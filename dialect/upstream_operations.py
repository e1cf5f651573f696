"""Loads the operation classes of the upstream dialects that every kernel contains below Tile IR.

MLIR otherwise imports the classes of a dialect in the middle of a stage, when it first returns one of its operations.
"""

from importlib import import_module

from tilec.dialect.mlir import PACKAGE

for _dialect in ("arith", "builtin", "cf", "scf"):
    import_module(f"{PACKAGE}.dialects.{_dialect}")
