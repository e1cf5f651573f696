"""Rules shared by operations; each returns the problem with an operation, or None."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.cuda_tile.types import TileType
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell
from tilec.dialect.verify import types_only

Rule = Callable[[ir.OpView], str | None]


def _agree(names: tuple[str, ...], what: str, fact: Callable[[TileType], object]) -> Rule:
    @types_only
    def rule(op: ir.OpView) -> str | None:
        types = [getattr(op, name).type for name in names]
        if all(fact(type) == fact(types[0]) for type in types[1:]):
            return None
        listed = " and ".join(map(quote, types))
        fields = ", ".join(name.removesuffix("_") for name in names)
        return f"failed to verify that all of {{{fields}}} have same {what}: {listed}"

    return rule


def same_shape(*names: str) -> Rule:
    """The rule that the fields, all tiles, have equal shapes."""
    return _agree(names, "shape", lambda type: type.shape)


def same_rank(*names: str) -> Rule:
    """The rule that the fields, all tiles, have equal ranks."""
    return _agree(names, "rank", lambda type: type.rank)


def same_element(*names: str) -> Rule:
    """The rule that the fields, all tiles, have equal element types."""
    return _agree(names, "element type", lambda type: type.element)


def only_for_f32(flag: str, result: str = "result") -> Rule:
    """The rule that a flag such as `flush_to_zero` requires f32 elements."""

    def rule(op: ir.OpView) -> str | None:
        element = spell(getattr(op, result).type.element)
        if getattr(op, flag) and element != "f32":
            return f"{flag} modifier only supported for f32 data type, but got: {element}"
        return None

    return rule


def approximate_only_for_f32(*modes: str) -> Rule:
    """The rule that approximate rounding modes require f32 elements."""

    def rule(op: ir.OpView) -> str | None:
        element = spell(op.result.type.element)
        if op.rounding_mode in modes and element != "f32":
            return f"{op.rounding_mode} modifier only supported for f32 data type, but got: {element}"
        return None

    return rule
