"""The operands and attributes that all loads and stores have: indices, the stored tile, ordering and hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tilec.ast_to_tile import arguments
from tilec.ast_to_tile.arguments import BadArgument
from tilec.ast_to_tile.emitter import AttributeValue, Emitter
from tilec.ast_to_tile.operations.convert import implicit, to_dtype
from tilec.ast_to_tile.values.values import KernelValue, Operand, Tile, needs_64_bits
from tilec.dialect.mlir import ir
from tilec.errors import TileValueError
from tilec.language import datatypes
from tilec.language.datatypes import DType
from tilec.language.modes import MemoryOrder, MemoryScope

LOAD_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.ACQUIRE)
STORE_ORDERS = (MemoryOrder.WEAK, MemoryOrder.RELAXED, MemoryOrder.RELEASE)


def to_store(emitter: Emitter, tile: KernelValue, dtype: DType) -> Tile:
    """The argument `tile` of a store, converted to the element type of the array."""
    return arguments.at("tile", implicit, emitter, arguments.tile_like(tile, "tile"), dtype)


def view_indices(emitter: Emitter, items: Sequence[Operand]) -> list[ir.Value]:
    """The indices of a view have one type: int32, or int64 if any index is wider than 32 bits."""
    dtype = datatypes.int64 if any(map(needs_64_bits, items)) else datatypes.int32
    return [to_dtype(emitter, item, dtype).value for item in items]


# The arguments of ct.load and ct.store that a view does not have: the values that they may have, and the reason.
Inapplicable: TypeAlias = Mapping[str, tuple[tuple[KernelValue, ...], str]]


def check_inapplicable(view: str, inapplicable: Inapplicable, given: Mapping[str, KernelValue]) -> None:
    """Raises BadArgument for a given argument that does not apply to a kind of view."""
    for name, (allowed, reason) in inapplicable.items():
        if name in given and given[name] not in allowed:
            raise BadArgument(name, f"expected no such argument for {view}: {reason}")


def access_attributes(options: dict[str, KernelValue], orders: tuple[MemoryOrder, ...]) -> dict[str, AttributeValue]:
    """The attributes of an access: ordering, scope and hints."""
    order = arguments.keyword(options.get("memory_order", MemoryOrder.WEAK), MemoryOrder, "memory_order")
    scope = arguments.keyword(options.get("memory_scope", MemoryScope.NONE), MemoryScope, "memory_scope")
    if order not in orders:
        raise BadArgument("memory_order", f"expected one of {', '.join(o.name for o in orders)}, got {order.name}")
    if scope is MemoryScope.CLUSTER:
        raise BadArgument("memory_scope", "expected one of NONE, BLOCK, DEVICE, SYS, got CLUSTER: DEVICE includes it")
    if (order is MemoryOrder.WEAK) != (scope is MemoryScope.NONE):
        needed = "no scope with WEAK" if order is MemoryOrder.WEAK else f"a scope with {order.name}"
        raise BadArgument("memory_scope", f"expected {needed}, got {scope.name}")
    attributes: dict[str, AttributeValue] = {"memory_ordering_semantics": order.value}
    if scope is not MemoryScope.NONE:
        attributes["memory_scope"] = scope.value
    hints = _hints(options)
    return attributes | ({"optimization_hints": hints} if hints is not None else {})


def _hints(options: dict[str, KernelValue]) -> ir.Attribute | None:
    hints: dict[str, ir.Attribute] = {}
    latency = arguments.constant_int_or_none(options.get("latency"), "latency")
    if latency is not None:
        if not 1 <= latency <= 10:
            raise BadArgument("latency", f"expected 1 (low) to 10 (high), got {latency}", TileValueError)
        hints["latency"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), latency)
    if options.get("allow_tma") is not None:
        hints["allow_tma"] = ir.BoolAttr.get(arguments.constant_bool(options["allow_tma"], "allow_tma"))
    return ir.DictAttr.get({"default": ir.DictAttr.get(hints)}) if hints else None
