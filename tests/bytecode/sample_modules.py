"""The kernels of operation_samples.py as modules, with each keyword and flag of each operation."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from operation_samples import SAMPLES, TYPES, kernel

from tilec.dialect.bytecode.version import Version
from tilec.dialect.fields import AttributeKind
from tilec.dialect.mlir import context, ir
from tilec.errors import InputError, VerificationError
from tilec.text_input.module import Module

GLOBALS = "global @table <f32: [1.0, 2.0]> : tile<2xf32>\n"


def module_of(*parts: str) -> Module:
    return Module.parse("cuda_tile.module @kernels {\n" + "".join(parts) + "}\n")


def operations(module: Module) -> list[Any]:
    found: list[Any] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation.opview)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    return found


def other_values(op: Any) -> Iterator[tuple[str, Any]]:
    """Each attribute of an operation with each value from its keywords or booleans."""
    for name, field in op.attribute_fields.items():
        if field.keywords:
            yield from ((name, ir.StringAttr.get(keyword)) for keyword in field.keywords)
        elif field.kind is AttributeKind.FLAG:
            yield from ((name, value) for value in (None, ir.UnitAttr.get()))
        elif field.kind is AttributeKind.BOOLEAN:
            yield from ((name, ir.BoolAttr.get(value)) for value in (False, True))
        elif field.kind is AttributeKind.BOOLEANS:
            yield from ((name, ir.DenseBoolArrayAttr.get([value] * len(op.index))) for value in (False, True))


def variants(name: str, text: str) -> Iterator[Module]:
    """A sample, and the sample with each other attribute value of its operation that is valid."""
    sample = module_of(GLOBALS, text)
    yield sample
    at = next(i for i, op in enumerate(operations(sample)) if op.operation.name == f"cuda_tile.{name}")
    with context():
        values = list(other_values(operations(sample)[at]))
    for attribute, value in values:
        changed = module_of(GLOBALS, text)
        attributes = operations(changed)[at].attributes
        if value is not None:
            attributes[attribute] = value
        elif attribute in attributes:
            del attributes[attribute]
        try:
            changed.verify()
        except VerificationError:
            continue
        yield changed


@functools.cache
def samples() -> list[Module]:
    """Kernels with each operation, each of its keywords and flags, and each type."""
    each = [
        module for name, bodies in SAMPLES.items() for body in bodies for module in variants(name, kernel("k", body))
    ]
    return each + [module_of(GLOBALS, kernel("k", body)) for body in TYPES]


def writable(module: Module, version: Version) -> bool:
    try:
        return bool(module.to_bytecode(str(version)))
    except InputError:
        return False


def joined(modules: list[Module]) -> Module:
    """One module with the kernels of several modules, which are renamed to k0, k1, ..."""
    found = module_of(GLOBALS)
    with context(), ir.InsertionPoint(found.ir.body):
        for number, module in enumerate(modules):
            for op in module.ir.body.operations:
                if op.operation.name == "cuda_tile.entry":
                    op.operation.clone().attributes["sym_name"] = ir.StringAttr.get(f"k{number}")
    return found
