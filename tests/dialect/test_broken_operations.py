"""Verification reports operations with missing or wrong operands, attributes and regions, and never crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.build import build
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
with context():
    NAMES = sorted(name for name in OPERATIONS if name.startswith("cuda_tile."))
# Attributes of every kind, at least one of which is invalid for any field.
ATTRIBUTES = [
    '"word"',
    "3 : i32",
    "-1 : i64",
    "unit",
    "[]",
    "array<i32>",
    "array<i32: 1, -1>",
    "dense<1> : tensor<2xi32>",
    "f32",
]


def refused(operation: ir.Operation) -> bool:
    """Whether verification reports an error, which must have a diagnostic with types in assembly spelling."""
    try:
        operation.verify()
    except ir.MLIRError as error:
        assert error.error_diagnostics, "the error has no diagnostic"
        assert "!cuda_tile" not in error.error_diagnostics[0].message
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_operation_without_operands_results_attributes_and_regions(name: str) -> None:
    cls = OPERATIONS[name]
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        ir.Operation.create(name, ip=ir.InsertionPoint(module.body))
        required = [*cls.operand_fields, *cls.result_fields]
        required += [field for field in cls.attribute_fields.values() if field.required]
        assert refused(module.operation) == bool(required or cls.region_fields)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_operation_with_empty_regions_and_operands_of_type_index(name: str, count: int) -> None:
    cls = OPERATIONS[name]
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            index = ir.Operation.create("builtin.unrealized_conversion_cast", [ir.IndexType.get()])
            ir.Operation.create(name, [ir.IndexType.get()], [index.result] * count, regions=len(cls.region_fields))
        assert refused(module.operation)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_removed_and_replaced_attributes(path: Path) -> None:
    module = Module.read(path)
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    with context():
        replacements = [ir.Attribute.parse(text) for text in ATTRIBUTES]
        for operation in found[:-1]:
            for name in list(operation.attributes):
                kept = operation.attributes[name]
                del operation.attributes[name]
                refused(module.ir.operation)
                are_refused = []
                for attribute in replacements:
                    operation.attributes[name] = attribute
                    are_refused.append(refused(module.ir.operation))
                operation.attributes[name] = kept
                # Attributes of other dialects may have any value.
                assert any(are_refused) or "." in name
    module.verify()


def test_reduction_without_a_terminator() -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            reduction = build("reduce", [], [], {"dim": 0, "identities": ir.ArrayAttr.get([])})
            reduction.regions[0].blocks.append()
        assert refused(module.operation)
