"""The facts that a vector covers: its operations with their types, keywords, flags and optional operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vector_files import Vector

from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from tilec.dialect.fields import ONE, OPTIONAL, AttributeKind
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import groups
from tilec.dialect.spelling import spell

Fact = tuple[Any, ...]

# The attribute of an MLIR module that contains the producer.
PRODUCER = "cuda_tile.producer"

VIEW_KINDS = {
    PartitionViewType: "partition_view",
    StridedViewType: "strided_view",
    GatherScatterViewType: "gather_scatter_view",
}


def operations(module: ir.Module) -> Iterator[Any]:
    """Every operation of a module, including those in regions."""
    yield from _inside(module.body)


def _inside(block: ir.Block) -> Iterator[Any]:
    for op in block.operations:
        yield op
        for region in op.operation.regions:
            for inner in region.blocks:
                yield from _inside(inner)


def values(op: Any) -> list[ir.Value]:
    regions = [block for region in op.operation.regions for block in region.blocks]
    return [*op.operation.operands, *op.operation.results, *(a for block in regions for a in block.arguments)]


def element(type: ir.Type) -> str:
    """The element type of a tile or a view (`ptr<f32>` for a tile of pointers); `token` for a token."""
    return spell(type) if not hasattr(type, "element") else spell(type.element)


def facts(vector: Vector, module: ir.Module) -> set[Fact]:
    """The facts of the operations that the vector tests."""
    names = {f"cuda_tile.{name}" for name in vector.get("operations", [vector.get("operation")])}
    with context():
        found: set[Fact] = set()
        for op in operations(module):
            if op.operation.name in names:
                found.update(_facts(op))
        if "cuda_tile.module" in names:
            found.add(("operation", "module"))
            found.add(("given", "module", "producer", PRODUCER in module.operation.attributes))
        found.update(("edge", name, edge) for name in vector.get("operations", ()) for edge in vector.get("edges", ()))
        return found


def _facts(op: Any) -> Iterator[Fact]:
    name = op.operation.name.removeprefix("cuda_tile.")
    yield ("operation", name)
    for kind, fields in (("operand", op.operand_fields), ("result", op.result_fields)):
        found = groups(op, kind) or {}
        for field in fields:
            group_values = found[field.name]
            if field.arity == OPTIONAL:
                yield ("optional", name, field.name, bool(group_values))
            elif field.arity != ONE and len(group_values) > 1:
                yield ("several", name, field.name)
            for value in group_values:
                yield (kind, name, field.name, element(value.type))
    for attribute, field in op.attribute_fields.items():
        value = getattr(op, attribute, None)
        if field.kind is AttributeKind.FLAG:
            yield ("flag", name, attribute, attribute in op.attributes)
        elif isinstance(value, str):
            yield ("keyword", name, attribute, value)
        else:
            yield ("given", name, attribute, attribute in op.attributes)
    yield from _combined(name, op)


def _combined(name: str, op: Any) -> Iterator[Fact]:
    """Facts of several properties: pairs of types, modes with types, orderings with scopes, views with paddings."""
    operands = [value.type for value in op.operation.operands]
    results = [value.type for value in op.operation.results]
    tiles = tuple(element(type) for type in (*operands, *results) if isinstance(type, TileType))
    yield ("types", name, tiles)
    for attribute in ("rounding_mode", "mode", "overflow", "rounding", "reduction"):
        if attribute in op.attribute_fields:
            yield (attribute, name, getattr(op, attribute), tiles)
    for flag, field in op.attribute_fields.items():
        if field.kind is AttributeKind.FLAG and flag in op.attributes:
            yield ("flagged", name, flag, tiles)
    if "memory_ordering_semantics" in op.attribute_fields:
        yield ("access", name, op.memory_ordering_semantics, op.memory_scope)
    if name.startswith("mma"):
        yield from _matrix_facts(name, op)
    if name == "atomic_rmw_tko":
        yield ("mode", name, op.mode, element(op.arg.type))
    if name == "atomic_red_view_tko":
        yield ("red", op.mode, element(op.value.type), VIEW_KINDS[type(op.view.type)])
    if "reduction" in op.attribute_fields:
        yield ("multimem", name, op.reduction, element(op.view.type))
    if name == "get_index_space_shape":
        yield ("index space", VIEW_KINDS[type(op.src.type)])
    yield from _types_of_views(name, (*operands, *results))


def _matrix_facts(name: str, op: Any) -> Iterator[Fact]:
    lhs = op.lhs.type
    yield ("mma rank", name, element(lhs), lhs.rank)
    if name == "mmai":
        yield ("signs", name, (op.signedness_lhs, op.signedness_rhs))
    if name == "mmaf_scaled":
        scale = op.lhs_scale.type
        yield ("scaled", element(lhs), element(scale), lhs.shape[-1] // scale.shape[-1], lhs.rank)


def _types_of_views(name: str, types: tuple[ir.Type, ...]) -> Iterator[Fact]:
    for type in types:
        if isinstance(type, tuple(VIEW_KINDS)):
            yield from _view_facts(name, type)
        if isinstance(type, TensorViewType):
            yield ("rank", name, len(type.shape))
            yield ("dynamic", name, None in type.shape, None in type.strides)


def _view_facts(name: str, view: Any) -> Iterator[Fact]:
    kind = VIEW_KINDS[type(view)]
    yield ("view", name, kind, element(view))
    yield ("padding", name, kind, view.padding, element(view))
    yield ("view rank", name, kind, view.rank)
    if kind != "gather_scatter_view":
        yield ("dim_map", name, kind, list(view.dim_map) == list(range(view.rank)))
    else:
        yield ("sparse_dim", name, view.sparse_dim)
    if kind == "strided_view":
        steps = zip(view.traversal_strides, view.tile_shape, strict=True)
        yield from (("steps", name, (a > b) - (a < b)) for a, b in steps)
