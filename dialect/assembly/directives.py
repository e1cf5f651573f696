"""Readers of directives: parts of an assembly format that a template cannot express."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.attributes import read_integer
from tilec.dialect.assembly.attributes.elements import read_elements
from tilec.dialect.assembly.tokens.lexer import is_name
from tilec.dialect.cuda_tile.sets import BoolTile
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType, TokenType
from tilec.dialect.mlir import ir
from tilec.dialect.operation import OPERATIONS
from tilec.dialect.spelling import spell

if TYPE_CHECKING:
    from tilec.dialect.assembly.operation_parts import Parts
    from tilec.dialect.assembly.operation_reader import OperationReader
    from tilec.dialect.assembly.tokens.tokens import Tokens


def _elements(reader: OperationReader, field: str, parts: Parts) -> None:
    """`<f32: 1.0> : tile<4xf32>`: elements with the type of their tile."""
    attribute, tile = read_elements(reader.tokens)
    parts.attributes[field] = attribute
    parts.types["result"] = [tile]


def _index_types(reader: OperationReader, field: str, parts: Parts) -> None:
    """`, tile<i32>`: one type for all indices, or one for each."""
    count = len(parts.operands[field])
    tokens = reader.tokens
    if count and tokens.peek() != ",":
        tokens.fail("index types must be specified when indices are present")
    types = []
    while tokens.take(","):
        types.append(tokens.type())
    if len(types) > 1 and isinstance(types[-1], TokenType) and parts.operands.get("token"):
        # For multicast accesses NVIDIA's tools also print the type of the token.
        types.pop()
    if len(types) not in (1, count):
        tokens.fail(f"expected {count} index types, got {len(types)}")
    cls_field = next(f for f in OPERATIONS[parts.name].operand_fields if f.name == field)
    reader.maker.check_operands(cls_field, types if len(types) == count else types * count, parts)


def _extents(reader: OperationReader, _: str, parts: Parts) -> None:
    """`shape = [%n, 64], strides = [%s, 1]`: values for dynamic extents and strides, numbers for static ones."""
    tokens = reader.tokens
    for keyword, field in (("shape", "dynamicShape"), ("strides", "dynamicStrides")):
        if keyword == "strides":
            tokens.expect(",")
        tokens.expect(keyword)
        tokens.expect("=")
        parts.positions[keyword] = tokens.at
        written = tokens.comma_list("[", "]", lambda: (tokens.at, _extent(reader)))
        parts.operands[field] = [value for _, value in written if not isinstance(value, int)]
        parts.extents[keyword] = written


def _extent(reader: OperationReader) -> int | ir.Value:
    token = reader.tokens.peek()
    if token[:1] == "%":
        return reader.scope.use()
    if token != "-" and not token[:1].isdigit():
        reader.tokens.fail("expected either integer or SSA value")
    return read_integer(reader.tokens)


def _view_types(reader: OperationReader, _: str, parts: Parts) -> None:
    """`tile<ptr<f32, <none>>>, tile<i32> -> tensor_view<..>`: the view, preceded by two optional types.

    The first is the type of the base, printed if its pointers have an attribute; the second is the type of the run-time
    extents, required if there are any.
    """
    tokens = reader.tokens
    start, given = tokens.offset(), reader.reader.bare_types()
    view, before = given[0], []
    if len(given) > 1 or tokens.peek() == "->":
        tokens.expect("->")
        before, start, view = list(given), tokens.offset(), tokens.type()
    if not isinstance(view, TensorViewType):
        tokens.fail_at(start, f"expected 'tensor_view' type, but got '{spell(view)}'")
    for keyword, extents in (("shape", view.shape), ("strides", view.strides)):
        _check_extents(tokens, keyword, parts.extents[keyword], extents, tokens.offsets[parts.positions[keyword]])
    if before and isinstance(before[0], TileType) and isinstance(before[0].element, PointerType):
        reader.scope.check(parts.positions["base"], parts.operands["base"][0], before.pop(0))
    if len(before) > 1:
        tokens.fail_at(start, f"expected at most two types before '->', but got {len(given)}")
    dynamic = parts.operands["dynamicShape"] + parts.operands["dynamicStrides"]
    if dynamic and not before:
        tokens.fail_at(start, "expected the type of the dynamic shape and stride operands before '->'")
    for at, value in (*parts.extents["shape"], *parts.extents["strides"]):
        if not isinstance(value, int):
            reader.scope.check(at, value, before[0])
    parts.types["result"] = [view]


def _check_extents(
    tokens: Tokens,
    keyword: str,
    written: Sequence[tuple[int, int | ir.Value]],
    extents: Sequence[int | None],
    offset: int,
) -> None:
    if len(written) != len(extents):
        tokens.fail_at(
            offset,
            f"expected {keyword.removesuffix('s')} declaration to contain {len(extents)} elements "
            f"due to tensor_view type, but {len(written)} were provided",
        )
    for axis, ((_, value), expected) in enumerate(zip(written, extents, strict=True)):
        found = value if isinstance(value, int) else None
        if found != expected:
            tokens.fail_at(
                offset,
                f"input {keyword.removesuffix('s')} dimension {axis} does not match tensor_view type "
                f"(expected {_shown(expected)}, got {_shown(found)})",
            )


def _shown(extent: int | None) -> str:
    return "dynamic" if extent is None else str(extent)


def _function_type(reader: OperationReader, _: str, parts: Parts) -> None:
    """`(tile<i32>) -> tile<i32>`: the types of all operands and results."""
    cls = OPERATIONS[parts.name]
    start, function = reader.tokens.offset(), reader.tokens.type()
    if not isinstance(function, ir.FunctionType):
        reader.tokens.fail_at(start, f"expected the types of operands and results, but got '{spell(function)}'")
    types, given = list(function.inputs), parts.operands[cls.operand_fields[0].name]
    if len(types) != len(given):
        reader.tokens.fail_at(start, f"expected {len(given)} operand types, but got {len(types)}")
    reader.maker.check_operands(cls.operand_fields[0], types, parts)
    parts.types[cls.result_fields[0].name] = list(function.results)


def _lone_padding(reader: OperationReader, _: str, parts: Parts) -> None:
    """A padding value without a mask has the mask's position in NVIDIA's text; the type tells them apart."""
    mask = parts.operands.get("mask")
    if mask and not parts.operands.get("paddingValue") and not BoolTile.contains(mask[0].type):
        parts.operands["mask"], parts.operands["paddingValue"] = [], mask


def _word(reader: OperationReader, field: str, parts: Parts) -> None:
    """`128B_atom_32B`: a keyword that starts with a digit and therefore consists of several tokens."""
    tokens = reader.tokens
    declared = OPERATIONS[parts.name].attribute_fields[field]
    start, found = tokens.offset(), tokens.next()
    while tokens.offset() == tokens.offset_of_last_end() and is_name(tokens.peek()):
        found += tokens.next()
    if found not in declared.keywords:
        tokens.fail_at(start, f"expected '{field}' to be one of: {', '.join(declared.keywords)}, but got '{found}'")
    parts.attributes[field] = declared.to_attribute(found)


def _word_list(reader: OperationReader, field: str, parts: Parts) -> None:
    """`[threads, mma]`: an array of strings."""
    names = reader.tokens.comma_list("[", "]", reader.tokens.next)
    parts.attributes[field] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in names])


READERS: dict[str, Callable[[OperationReader, str, Parts], None]] = {
    "elements": _elements,
    "function_type": _function_type,
    "index_types": _index_types,
    "lone_padding": _lone_padding,
    "tensor_view_extents": _extents,
    "tensor_view_types": _view_types,
    "word": _word,
    "word_list": _word_list,
}
