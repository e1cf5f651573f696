"""Exports dialects as IRDL text, which `mlir-opt --irdl-file` loads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tilec.dialect.constraints import Unconstrained
from tilec.dialect.mlir import ext, ir, irdl, passmanager

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


def definition(dialects: Iterable[type[ext.Dialect]]) -> str:
    """The IRDL definition of dialects (classes of `registry.dialects`); docs/irdl.md lists what IRDL cannot express."""
    # The definition comes from the classes and needs no context with loaded dialects.
    with ir.Context() as made, ir.Location.unknown():
        made.enable_multithreading(False)
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            for dialect in dialects:
                _dialect(dialect)
        passmanager.PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
        return f"{module}\n".replace(" \n", "\n")


def _dialect(dialect: type[ext.Dialect]) -> None:
    with ir.InsertionPoint(irdl.dialect(dialect.DIALECT_NAMESPACE).body):
        for type in dialect.types:
            _parameters(irdl.type_(type._name), type)
        for attribute in dialect.attributes:
            _parameters(irdl.attribute(attribute._name), attribute)
        for operation in dialect.operations:
            operation._emit_operation()
            _one_block_each(ir.InsertionPoint.current.block.operations[-1], operation)


def _parameters(made: ir.OpView, kind: Any) -> None:
    names = [field.name for field in kind._fields]
    constraints = getattr(kind, "irdl", (Unconstrained,) * len(names))
    with ir.InsertionPoint(made.body):
        lower = ext.ConstraintLoweringContext().lower
        irdl.parameters([lower(constraint) for constraint in constraints], names)


def _one_block_each(made: ir.OpView, operation: type[Operation]) -> None:
    """Adds the constraint of one block to required regions; other regions are unconstrained."""
    regions = [op for op in made.operation.regions[0].blocks[0].operations if op.operation.name == "irdl.region"]
    fields = getattr(operation, "region_fields", (None,) * len(regions))
    for region, field in zip(regions, fields, strict=True):
        if field is not None and field.required:
            region.attributes["numberOfBlocks"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
