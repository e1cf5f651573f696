"""Whatever an operation lacks or holds, verification answers with a diagnostic, never with a fault of its own."""

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
# Attributes of every kind, one of which fits no field.
STRANGE = [
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
    """Whether verification refuses an operation with a diagnostic that speaks of it."""
    try:
        operation.verify()
    except ir.MLIRError as error:
        assert error.error_diagnostics, "refused without a word"
        assert "!cuda_tile" not in error.error_diagnostics[0].message
        return True
    return False


@pytest.mark.parametrize("name", NAMES)
def test_without_anything(name: str) -> None:
    cls = OPERATIONS[name]
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        ir.Operation.create(name, ip=ir.InsertionPoint(module.body))
        needed = [*cls.operand_fields, *cls.result_fields]
        needed += [field for field in cls.attribute_fields.values() if field.required]
        assert refused(module.operation) == bool(needed or cls.region_fields)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", NAMES)
def test_with_empty_regions_and_strange_operands(name: str, count: int) -> None:
    cls = OPERATIONS[name]
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            index = ir.Operation.create("builtin.unrealized_conversion_cast", [ir.IndexType.get()])
            ir.Operation.create(name, [ir.IndexType.get()], [index.result] * count, regions=len(cls.region_fields))
        assert refused(module.operation)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_attributes_taken_away_or_changed(path: Path) -> None:
    module = Module.read(path)
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.append(operation)
        return ir.WalkResult.ADVANCE

    module.ir.operation.walk(visit)
    with context():
        strange = [ir.Attribute.parse(text) for text in STRANGE]
        for operation in found[:-1]:
            for name in list(operation.attributes):
                kept = operation.attributes[name]
                del operation.attributes[name]
                refused(module.ir.operation)
                answers = []
                for attribute in strange:
                    operation.attributes[name] = attribute
                    answers.append(refused(module.ir.operation))
                operation.attributes[name] = kept
                # Names that belong to other dialects may hold anything.
                assert any(answers) or "." in name
    module.verify()


def test_a_fold_without_a_terminator() -> None:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            fold = build("reduce", [], [], {"dim": 0, "identities": ir.ArrayAttr.get([])})
            fold.regions[0].blocks.append()
        assert refused(module.operation)
