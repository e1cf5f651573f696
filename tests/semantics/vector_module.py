"""Vectors as executable modules; a vector of one operation gets an entry that loads operands and stores results."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from vector_files import Vector
from vector_memory import Buffer, number

from tilec.dialect.assembly.reader import read_module
from tilec.dialect.build import build
from tilec.dialect.cuda_tile.types import PartitionViewType, PointerType, TensorViewType, TileType, TokenType
from tilec.dialect.mlir import context, ir

ENTRY = "vector"
_WEAK = {"memory_ordering_semantics": "weak"}
# Element types that MLIR spells differently.
_MLIR_NAMES = {"fnv8E5M3FNU": "f8E5M3FNU"}
_TILE = re.compile(r"tile<((?:\d+x)*)(.+)>")
_POINTER = re.compile(r"ptr<(.+)>")
# The number of operands before the group of indices.
_OPERANDS_BEFORE_INDICES = {"extract": 1, "insert": 2}


@dataclass(frozen=True)
class Case:
    """An executable vector: the entry, its arguments, and the expected results."""

    module: ir.Module
    grid: tuple[int, ...]
    arguments: list[str | int | float]
    buffers: dict[str, Buffer]
    printed: str
    fails: str | None
    units: int

    def run(self, execute: Callable[[list[int | float], list[tuple[int, int, bool]]], None]) -> None:
        """Calls `execute` with the arguments and the memory ranges, then checks the buffers."""
        arrays = {name: buffer.allocate() for name, buffer in self.buffers.items()}
        values = [arrays[value].ctypes.data if isinstance(value, str) else value for value in self.arguments]
        execute(values, [_range(array) for array in arrays.values()])
        for name, buffer in self.buffers.items():
            buffer.check(arrays[name], self.units)


def _range(array: np.ndarray) -> tuple[int, int, bool]:
    return array.ctypes.data, array.nbytes, True


def case_of(vector: Vector) -> Case:
    return _module_case(vector) if "module" in vector else _operation_case(vector)


def _module_case(vector: Vector) -> Case:
    module = read_module(vector["module"], "vector.mlir")
    with context():
        module.operation.verify()
    buffers = {
        name: Buffer(fields["element"], fields.get("before"), fields.get("after"))
        for name, fields in vector["buffers"].items()
    }
    arguments = [
        argument["buffer"] if "buffer" in argument else number(argument["element"], argument["bits"])
        for argument in vector["arguments"]
    ]
    grid = tuple(vector.get("grid", (1, 1, 1)))
    return Case(
        module, grid, arguments, buffers, vector.get("printed", ""), vector.get("fails"), vector.get("units", 0)
    )


def _operation_case(vector: Vector) -> Case:
    operands = {
        f"operand {at}": Buffer(_element(tile["type"]), tile["bits"], None)
        for at, tile in enumerate(vector["operands"])
    }
    results = {
        f"result {at}": Buffer(_element(tile["type"]), None, tile["bits"]) for at, tile in enumerate(vector["results"])
    }
    buffers = operands | results
    return Case(_operation_module(vector), (1,), list(buffers), buffers, "", None, vector.get("units", 0))


def _element(tile: str) -> str:
    return parts(tile)[1]


def parts(tile: str) -> tuple[tuple[int, ...], str]:
    """The extents and the name of the element type of `tile<4x2xf32>`."""
    found = _TILE.fullmatch(tile)
    assert found is not None, tile
    return tuple(int(extent) for extent in found[1].split("x")[:-1]), found[2]


def _element_type(name: str) -> ir.Type:
    pointee = _POINTER.fullmatch(name)
    if pointee is not None:
        return PointerType.get(_element_type(pointee[1]))
    return ir.Type.parse(_MLIR_NAMES.get(name, name))


def _tile_type(text: str) -> TileType:
    shape, element = parts(text)
    return TileType.get(shape, _element_type(element))


def _operation_module(vector: Vector) -> ir.Module:
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        kinds = [_tile_type(tile["type"]) for tile in (*vector["operands"], *vector["results"])]
        types = [TileType.get((), PointerType.get(_carrier(kind).element)) for kind in kinds]
        with ir.InsertionPoint(module.body):
            signature = ir.FunctionType.get(types, [])
            entry = build("entry", [], [], {"sym_name": ENTRY, "function_type": signature})
        block = entry.regions[0].blocks.append(*types)
        with ir.InsertionPoint(block):
            count = len(vector["operands"])
            loaded = [_load_tile(pointer, kind) for pointer, kind in zip(block.arguments, kinds[:count], strict=False)]
            for pointer, value in zip(list(block.arguments)[count:], _operate(vector, loaded), strict=True):
                _store_tile(pointer, value)
            build("return")
        module.operation.verify()
        return module


def _is(kind: TileType, name: str) -> bool:
    return kind.element == _element_type(name)


def _carrier(kind: TileType) -> TileType:
    """The type in memory: addresses for a tile of pointers, bytes of two elements for i4, otherwise the tile itself."""
    if isinstance(kind.element, PointerType):
        return TileType.get(kind.shape, _element_type("i64"))
    if _is(kind, "i4"):
        return TileType.get((int(np.prod(kind.shape)) // 2,), _element_type("i8"))
    return kind


def _load_tile(pointer: ir.Value, kind: TileType) -> ir.Value:
    loaded = _load(pointer, _carrier(kind))
    if isinstance(kind.element, PointerType):
        return build("int_to_ptr", [loaded], [kind]).result
    if _is(kind, "i4"):
        flat = TileType.get((int(np.prod(kind.shape)),), kind.element)
        return build("reshape", [build("unpack", [loaded], [flat]).result], [kind]).result
    return loaded


def _store_tile(pointer: ir.Value, value: ir.Value) -> None:
    kind = value.type
    if isinstance(kind.element, PointerType):
        value = build("ptr_to_int", [value], [_carrier(kind)]).result
    elif _is(kind, "i4"):
        flat = TileType.get((int(np.prod(kind.shape)),), kind.element)
        value = build("pack", [build("reshape", [value], [flat]).result], [_carrier(kind)]).result
    _store(pointer, value)


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


def _operate(vector: Vector, operands: list[ir.Value]) -> list[ir.Value]:
    grouped = _OPERANDS_BEFORE_INDICES.get(vector["operation"])
    operand_groups = operands if grouped is None else [*operands[:grouped], operands[grouped:]]
    results = [_tile_type(tile["type"]) for tile in vector["results"]]
    operation = build(vector["operation"], operand_groups, results, _attributes(vector))
    if "body" in vector:
        _body(operation.regions[0], vector["body"], operands[0].type)
    return list(operation.results)


def _attributes(vector: Vector) -> dict[str, Any]:
    attributes = dict(vector["attributes"])
    if "identities" in attributes:
        element = _tile_type(vector["operands"][0]["type"]).element
        attributes["identities"] = ir.ArrayAttr.get([_identity(element, x) for x in attributes["identities"]])
    return attributes


def _identity(element: ir.Type, value: int) -> ir.Attribute:
    is_float = isinstance(element, ir.FloatType)
    return ir.FloatAttr.get(element, float(value)) if is_float else ir.IntegerAttr.get(element, value)


def _body(region: ir.Region, body: dict[str, Any], kind: TileType) -> None:
    scalar = TileType.get((), kind.element)
    block = region.blocks.append(scalar, scalar)
    with ir.InsertionPoint(block):
        build("yield", [build(body["operation"], list(block.arguments), [scalar], body["attributes"]).result])
