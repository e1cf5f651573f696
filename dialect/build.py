"""Creates operations from names and Python values, for the front end, passes and readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, TypeAlias

from tilec.dialect.cache import table
from tilec.dialect.fields import MIXED, ONE, ValueField
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS

if TYPE_CHECKING:
    from tilec.dialect.class_interfaces import Operation


# A value or a result type, a group of them, or None for an absent one.
Group: TypeAlias = "ir.Value | ir.Type | Sequence[ir.Value | ir.Type] | None"


def build(
    name: str,
    operands: Sequence[Group] = (),
    results: Sequence[Group] = (),
    attributes: Mapping[str, object] | None = None,
    regions: int | None = None,
    loc: ir.Location | None = None,
    segments: Sequence[int] | None = None,
) -> ir.Operation:
    """Creates an operation at the current insertion point, without verifying it.

    A name without a dot is of `cuda_tile`. Attributes may be MLIR attributes or the Python values of accessors;
    defaults are filled in. Operands are either flat, or one entry per field (a value, None, or a list of values), which
    operations with several optional or variadic groups need; `segments` gives the sizes of the groups instead.
    Raises KeyError for an unknown operation and ValueError for groups that do not fit its fields.
    """
    full = name if "." in name else f"cuda_tile.{name}"
    cls = OPERATIONS[full]
    stored = _attributes(cls, attributes)
    operands = _grouped(cls, operands, segments, "operand", full, stored)
    results = _grouped(cls, results, None, "result", full, stored)
    count = len(cls.region_fields) if regions is None else regions
    return ir.Operation.create(full, results, operands, stored, regions=count, loc=loc)


def _attributes(cls: type[Operation], given: Mapping[str, object] | None) -> dict[str, ir.Attribute]:
    fields = cls.attribute_fields
    stored = {name: field.to_attribute(field.default) for name, field in fields.items() if field.default is not None}
    for name, value in (given or {}).items():
        if isinstance(value, ir.Attribute):
            stored[name] = value
        elif value is not None and value is not False or name in fields and fields[name].required and value is False:
            stored[name] = fields[name].to_attribute(value)
    return stored


def _grouped(
    cls: type[Operation],
    given: Sequence[Group],
    sizes: Sequence[int] | None,
    kind: str,
    name: str,
    stored: dict[str, ir.Attribute],
) -> list[ir.Value | ir.Type]:
    flat = list(given)
    if cls.verifier.has_only_single_values[kind]:
        return flat
    fields = cls.operand_fields if kind == "operand" else cls.result_fields
    if any(value is None or isinstance(value, list | tuple) for value in flat):
        groups = [[] if v is None else list(v) if isinstance(v, list | tuple) else [v] for v in flat]
        flat, sizes = [value for group in groups for value in group], [len(group) for group in groups]
    if sizes is None:
        sizes = _only_sizes(fields, len(flat), kind, name)
    if len(sizes) != len(fields) or sum(sizes) != len(flat):
        raise ValueError(
            f"'{name}' has {len(fields)} groups of {kind}s, got sizes {list(sizes)} for {len(flat)} values"
        )
    stored[f"{kind}SegmentSizes"] = segment_attribute(fields, group_lengths(fields, sizes, flat), name)
    return flat


def group_lengths(
    fields: tuple[ValueField, ...], sizes: Sequence[int], values: Sequence[ir.Value | ir.Type]
) -> tuple[int | tuple[int, ...], ...]:
    """The lengths of each group of values or result types, as `segment_attribute` takes them."""
    if all(field.arity != MIXED for field in fields):
        return tuple(sizes)
    types = [value.type if isinstance(value, ir.Value) else value for value in values]
    ends = accumulate(sizes)
    return tuple(field.lengths(types[end - size : end]) for field, size, end in zip(fields, sizes, ends, strict=True))


def _only_sizes(fields: tuple[ValueField, ...], count: int, kind: str, name: str) -> list[int]:
    free = [field for field in fields if field.arity != ONE]
    if len(free) == 1:
        return [1 if field.arity == ONE else count - len(fields) + 1 for field in fields]
    raise ValueError(f"'{name}' has several optional groups of {kind}s: give one entry per field, or segments")


# Cached by sizes, because creating the attribute takes longer than creating the operation.
_SEGMENTS: dict[object, ir.Attribute] = table()


def segment_attribute(
    fields: tuple[ValueField, ...], lengths: tuple[int | tuple[int, ...], ...], name: str
) -> ir.Attribute:
    """The segment attribute for group lengths; raises ValueError for a mixed group of too many runs."""
    key = (name, fields[0].kind, lengths, ir.Context.current)
    found = _SEGMENTS.get(key)
    if found is None:
        found = _SEGMENTS[key] = ir.DenseI32ArrayAttr.get(_segment_sizes(fields, lengths, name))
    return found


def _segment_sizes(fields: tuple[ValueField, ...], lengths: tuple[int | tuple[int, ...], ...], name: str) -> list[int]:
    segments: list[int] = []
    for field, length in zip(fields, lengths, strict=True):
        if isinstance(length, int):
            segments.append(length)
            continue
        if len(length) > field.runs:
            raise ValueError(
                f"expected at most {field.runs} runs of values of one type for '{field.name}' of '{name}', "
                f"but got {len(length)}"
            )
        segments.extend([*length, *[0] * (field.runs - len(length))])
    return segments


def regroup(op: ir.OpView) -> None:
    """Renews the runs of equal types in the groups of an operation whose operands or results have other types now."""
    for kind, fields, values in (
        ("operand", op.operand_fields, op.operation.operands),
        ("result", op.result_fields, op.operation.results),
    ):
        if any(field.arity == MIXED for field in fields):
            segments = iter(op.operation.attributes[f"{kind}SegmentSizes"])
            sizes = [sum(islice(segments, field.width)) for field in fields]
            lengths = group_lengths(fields, sizes, list(values))
            op.operation.attributes[f"{kind}SegmentSizes"] = segment_attribute(fields, lengths, op.operation.name)


def attributes_without_segments(op: ir.OpView) -> dict[str, ir.Attribute]:
    """The attributes of an operation with which `build` makes a similar one, whose groups may have other lengths."""
    return {name: op.attributes[name] for name in op.attributes if not name.endswith("SegmentSizes")}


def copied(module: ir.Module) -> ir.Module:
    """A copy of a module with its attributes."""
    copy = ir.Module.create(module.operation.location)
    for name in module.operation.attributes:
        copy.operation.attributes[name] = module.operation.attributes[name]
    for op in module.body.operations:
        op.operation.clone(ip=ir.InsertionPoint(copy.body))
    return copy
