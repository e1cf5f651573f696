"""Verification reports operations with missing or wrong operands, attributes and regions, and never crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilec.dialect.build import build
from tilec.dialect.fields import MANY_RUNS
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import OPERATIONS
from tilec.errors import VerificationError
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


RETURN = f'"cuda_tile.return"() {{operandSegmentSizes = array<i32: {", ".join(["0"] * MANY_RUNS)}>}} : () -> ()'
SCALAR, I3 = "!cuda_tile.tile<array<i64>, i32>", "!cuda_tile.tile<array<i64>, i3>"


@pytest.mark.parametrize(
    ("argument", "last", "attributes", "message"),
    [
        (SCALAR, RETURN, "function_type = i32", "attribute 'function_type' must be a function type, but got 'i32'"),
        (I3, RETURN, f"function_type = ({I3}) -> ()", "argument #0 has an invalid type: tile element must be a number"),
        (
            SCALAR,
            RETURN,
            f"function_type = ({SCALAR}) -> (), arg_attrs = []",
            "expects one dictionary an argument (1), but got 0",
        ),
        (
            SCALAR,
            RETURN,
            f"function_type = ({SCALAR}) -> (), arg_attrs = [3 : i32]",
            "expects a dictionary of attributes for argument #0, but got 3 : i32",
        ),
        (
            SCALAR,
            '"tile_gpu.return"() : () -> ()',
            f"function_type = ({SCALAR}) -> ()",
            "expects the body to end in 'cuda_tile.return', but got 'tile_gpu.return'",
        ),
        (
            SCALAR,
            f'%0 = "cuda_tile.assume"(%a) {{predicate = #cuda_tile.div_by<4, 2, unit>}} : ({SCALAR}) -> {SCALAR} '
            + RETURN,
            f"function_type = ({SCALAR}) -> ()",
            "'cuda_tile.assume' op div_by: 'every' and 'along' must be given together",
        ),
    ],
)
def test_kernels_of_generic_text_are_checked(argument: str, last: str, attributes: str, message: str) -> None:
    kernel = f'"cuda_tile.entry"() ({{ ^bb0(%a: {argument}): {last} }}) {{sym_name = "k", {attributes}}} : () -> ()'
    with pytest.raises(VerificationError) as caught:
        Module.parse(f'"builtin.module"() ({{\n{kernel} }}) : () -> ()', "k.mlir")
    assert message in caught.value.message
    assert (caught.value.location.file, caught.value.location.line) == ("k.mlir", 2)


def test_elements_of_a_global_of_generic_text_are_numbers() -> None:
    text = '"cuda_tile.global"() {sym_name = "g", value = dense<1> : tensor<1xi3>, symbol_visibility = "public", '
    with pytest.raises(VerificationError, match="elements must be numbers, but got i3"):
        Module.parse(f'"builtin.module"() ({{ {text}alignment = 0 : i64}} : () -> () }}) : () -> ()')
