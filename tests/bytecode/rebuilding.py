"""Rebuilds modules, operation by operation, with the builder and the Python values of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilec.dialect.build import build
from tilec.dialect.fields import ONE, ValueField
from tilec.dialect.mlir import context, ir
from tilec.text_input.module import Module


def rebuilt(module: Module) -> Module:
    """An equal module, of which only the types and the attributes of the builtin module are copied."""
    with context(), ir.Location.unknown():
        made = ir.Module.create()
        for name in module.ir.operation.attributes:
            made.operation.attributes[name] = module.ir.operation.attributes[name]
        _fill(module.ir.body, made.body, {})
    return Module(made)


def _fill(block: ir.Block, made: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    values.update(zip(block.arguments, made.arguments, strict=True))
    with ir.InsertionPoint(made):
        for op in block.operations:
            _rebuild(op, values)


def _rebuild(op: Any, values: dict[ir.Value, ir.Value]) -> None:
    operands = _entries(op, op.operand_fields, values.__getitem__)
    results = _entries(op, op.result_fields, lambda value: value.type)
    attributes = {name: getattr(op, f"{name}_") for name in op.attribute_fields if name in op.attributes}
    made = build(op.operation.name, operands, results, attributes)
    values.update(zip(op.operation.results, made.results, strict=True))
    for region, other in zip(op.regions, made.regions, strict=True):
        for block in region.blocks:
            types = [argument.type for argument in block.arguments]
            _fill(block, other.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types)), values)


def _entries(op: Any, fields: tuple[ValueField, ...], of: Callable[[ir.Value], Any]) -> list[Any]:
    """One entry per field, which are lists if any of the fields is optional or variadic."""
    found = [getattr(op, f"{field.name}_") for field in fields]
    if all(field.arity == ONE for field in fields):
        return [of(value) for value in found]
    return [[of(value) for value in _group(entry)] for entry in found]


def _group(entry: Any) -> list[ir.Value]:
    return entry if isinstance(entry, list) else [] if entry is None else [entry]
