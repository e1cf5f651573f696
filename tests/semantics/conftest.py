"""Vectors as modules: an entry that loads the operands, does the one operation and stores the results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PartitionViewType, PointerType, TensorViewType, TileType, TokenType
from tilec.dialect.mlir import context, ir

VECTORS = Path(__file__).parent / "vectors"
_WEAK = {"memory_ordering_semantics": "weak"}
# Element types that MLIR spells differently.
_MLIR_NAMES = {"fnv8E5M3FNU": "f8E5M3FNU"}


def load_vectors() -> list[dict[str, Any]]:
    return [vector for path in sorted(VECTORS.glob("*.json")) for vector in json.loads(path.read_text())]


def shape_and_element(text: str) -> tuple[tuple[int, ...], str]:
    """`tile<4x2xf32>` as its extents and the name of its element."""
    inner = re.fullmatch(r"tile<((?:\d+x)*)(\w+)>", text)
    assert inner is not None, text
    return tuple(int(extent) for extent in inner[1].split("x")[:-1]), inner[2]


def vector_name(vector: dict[str, Any]) -> str:
    types = [tile["type"] for tile in (*vector["operands"], *vector["results"])]
    words = [f"{key}={value}" for key, value in vector["attributes"].items()]
    return " ".join([vector["operation"], *words, *types])


def _tile_type(text: str) -> TileType:
    shape, element = shape_and_element(text)
    return TileType.get(shape, ir.Type.parse(_MLIR_NAMES.get(element, element)))


def _pointer(kind: TileType) -> TileType:
    return TileType.get((), PointerType.get(kind.element))


def _zero() -> ir.Value:
    integer = ir.IntegerType.get_signless(32)
    value = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([], integer), ir.IntegerAttr.get(integer, 0))
    return build("constant", [], [TileType.get((), integer)], {"value": value}).result


def _view(pointer: ir.Value, kind: TileType) -> ir.Value:
    strides = [1] * kind.rank
    for axis in range(kind.rank - 1, 0, -1):
        strides[axis - 1] = strides[axis] * kind.shape[axis]
    tensor = build(
        "make_tensor_view", [pointer, [], []], [TensorViewType.get(kind.shape, kind.element, strides)]
    ).result
    return build("make_partition_view", [tensor], [PartitionViewType.get(kind.shape, tensor.type)]).result


def _load(pointer: ir.Value, kind: TileType) -> ir.Value:
    results = [kind, TokenType.get()]
    if not kind.rank:
        return build("load_ptr_tko", [pointer, None, None, None], results, _WEAK).results[0]
    operands = [_view(pointer, kind), [_zero()] * kind.rank, None]
    return build("load_view_tko", operands, results, _WEAK).results[0]


def _store(pointer: ir.Value, value: ir.Value) -> None:
    results = [TokenType.get()]
    if not value.type.rank:
        build("store_ptr_tko", [pointer, value, None, None], results, _WEAK)
        return
    build("store_view_tko", [value, _view(pointer, value.type), [_zero()] * value.type.rank, None], results, _WEAK)


def _attributes(vector: dict[str, Any]) -> dict[str, Any]:
    attributes = dict(vector["attributes"])
    if "identities" in attributes:
        attributes["identities"] = ir.ArrayAttr.get(
            [_number(vector, identity) for identity in attributes["identities"]]
        )
    return attributes


def _number(vector: dict[str, Any], number: int) -> ir.Attribute:
    element = _tile_type(vector["operands"][0]["type"]).element
    is_float = isinstance(element, ir.FloatType)
    return ir.FloatAttr.get(element, float(number)) if is_float else ir.IntegerAttr.get(element, number)


def _operate(vector: dict[str, Any], operands: list[ir.Value]) -> list[ir.Value]:
    grouped = {"extract": 1, "insert": 2}.get(vector["operation"])
    given = operands if grouped is None else [*operands[:grouped], operands[grouped:]]
    results = [_tile_type(tile["type"]) for tile in vector["results"]]
    made = build(vector["operation"], given, results, _attributes(vector))
    if "body" in vector:
        _body(made.regions[0], vector["body"], operands[0].type)
    return list(made.results)


def _body(region: ir.Region, body: dict[str, Any], kind: TileType) -> None:
    scalar = TileType.get((), kind.element)
    block = region.blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        build("yield", [build(body["operation"], list(block.arguments), [scalar], body["attributes"]).result])


def _module(vector: dict[str, Any]) -> ir.Module:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        kinds = [_tile_type(tile["type"]) for tile in (*vector["operands"], *vector["results"])]
        types = [_pointer(kind) for kind in kinds]
        with ir.InsertionPoint(module.body):
            signature = ir.FunctionType.get(types, [])
            entry = build("entry", [], [], {"sym_name": "vector", "function_type": signature})
        block = entry.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            count = len(vector["operands"])
            loaded = [_load(pointer, kind) for pointer, kind in zip(block.arguments, kinds[:count], strict=False)]
            for pointer, value in zip(list(block.arguments)[count:], _operate(vector, loaded), strict=True):
                _store(pointer, value)
            build("return")
        module.operation.verify()
        return module


@pytest.fixture(scope="session")
def module_of() -> Callable[[dict[str, Any]], ir.Module]:
    return _module


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector" in metafunc.fixturenames:
        found = load_vectors()
        metafunc.parametrize("vector", found, ids=[f"{index} {vector_name(v)}" for index, v in enumerate(found)])
