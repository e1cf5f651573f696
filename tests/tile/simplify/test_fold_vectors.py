"""Constant folding is bitwise equal to the semantics vectors; NaN and undefined results are not folded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.build import build
from tilec.dialect.bytecode.elements import dense_bytes
from tilec.dialect.cuda_tile.types import TileType, TokenType
from tilec.dialect.mlir import context, ir
from tilec.lowering.tile.simplify.simplify import fold_constants
from tilec.runtime.interpret.evaluate import evaluate

VECTORS = Path(__file__).parents[2] / "semantics" / "vectors"
FOLDED = frozenset(
    "absi addi andi cmpi divi maxi mini mulhii muli negi ori remi shli shri subi xori absf addf ceil cmpf divf floor"
    " fma maxf minf mulf negf remf sqrt subf bitcast exti ftof ftoi itof trunci select".split()
)
# Exponent bits, fraction bits, and whether only the code of all ones is a NaN.
NAN_FIELDS = {
    "f16": (5, 10, False), "bf16": (8, 7, False), "f32": (8, 23, False), "tf32": (8, 10, False), "f64": (11, 52, False),
    "f8E5M2": (5, 2, False), "f8E4M3FN": (4, 3, True), "f8E8M0FNU": (8, 0, True), "fnv8E5M3FNU": (5, 3, True),
}  # fmt: skip


def is_foldable(vector: dict[str, Any]) -> bool:
    if vector.get("operation") not in FOLDED or "body" in vector or "units" in vector:
        return False
    # These types have no constants.
    if any("ptr" in tile["type"] or "xi4" in tile["type"] for tile in (*vector["operands"], *vector["results"])):
        return False
    return vector["attributes"].get("rounding_mode") not in ("approx", "full")


VECTORS_TO_FOLD = [
    vector for path in sorted(VECTORS.glob("*.json")) for vector in json.loads(path.read_text()) if is_foldable(vector)
]


def element_of(tile: dict[str, Any]) -> str:
    return re.fullmatch(r"tile<(?:\d+x)*(\w+)>", tile["type"])[1]


def literal(element: str, code: int) -> str:
    """The literal of a constant of one element with these bits."""
    if element == "i1":
        return "true" if code & 1 else "false"
    if element.startswith("i"):
        bits = int(element[1:])
        return str(code - (1 << bits) if code >> (bits - 1) else code)
    return f"0x{stored_code(element, code):X}"


def stored_code(element: str, code: int) -> int:
    """The bits of a constant; those of tf32 are the upper 19 bits of its representation in memory."""
    return code >> 13 if element == "tf32" else code


def is_nan(element: str, code: int) -> bool:
    if element not in NAN_FIELDS:
        return False
    exponent, fraction, ones = NAN_FIELDS[element]
    magnitude = stored_code(element, code) & ((1 << exponent + fraction) - 1)
    return magnitude == (1 << exponent + fraction) - 1 if ones else magnitude > ((1 << exponent) - 1) << fraction


def pair(element: str) -> TileType:
    """A tile of two elements, because f4E2M1FN needs an even number."""
    return TileType.get((2,), ir.Type.parse("f8E5M3FNU" if element == "fnv8E5M3FNU" else element))


def constant(element: str, code: int) -> ir.Value:
    tile = pair(element)
    value = ir.Attribute.parse(f"dense<{literal(element, code)}> : tensor<2x{tile.element}>")
    return build("constant", [], [tile], {"value": value}).result


def folded(vector: dict[str, Any]) -> list[int | None]:
    """The code that each element, in a separate tile, folds to; None if it does not fold."""
    elements, result = [element_of(tile) for tile in vector["operands"]], element_of(vector["results"][0])
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        uses = []
        with ir.InsertionPoint(module.body):
            for codes in zip(*(tile["bits"] for tile in vector["operands"]), strict=True):
                operands = [constant(element, code) for element, code in zip(elements, codes, strict=True)]
                operation = build(vector["operation"], operands, [pair(result)], vector["attributes"])
                assert operation.verify()
                uses.append(build("print_tko", [[operation.result], None], [TokenType.get()], {"str": "%d"}))
        fold_constants(module, evaluate)
        return [code_of(use.operands[0].owner) for use in uses]


def code_of(operation: Any) -> int | None:
    if operation.operation.name != "cuda_tile.constant":
        return None
    return int.from_bytes(dense_bytes(operation.value), "little")


@pytest.mark.parametrize(
    "vector", VECTORS_TO_FOLD, ids=lambda vector: f"{vector['operation']} {vector['results'][0]['type']}"
)
def test_elements_fold_to_the_vector(vector: dict[str, Any]) -> None:
    element = element_of(vector["results"][0])
    expected = [
        None if is_nan(element, code) else (0xFF if code else 0) if element == "i1" else stored_code(element, code)
        for code in vector["results"][0]["bits"]
    ]
    if vector["operation"] == "bitcast":
        # The bits of a NaN are unspecified.
        source = vector["operands"][0]
        unknown = [is_nan(element_of(source), code) for code in source["bits"]]
        expected = [None if nan else code for nan, code in zip(unknown, expected, strict=True)]
    assert folded(vector) == expected


def test_every_folding_operation_has_vectors() -> None:
    assert {vector["operation"] for vector in VECTORS_TO_FOLD} == FOLDED
