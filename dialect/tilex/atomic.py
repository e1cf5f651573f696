"""Atomic counting up to a bound, through pointers and of tiles of views."""

from collections.abc import Sequence

from tilec.dialect.attributes import Booleans, Enumeration
from tilec.dialect.cuda_tile.accesses import (
    inbounds_problem,
    mask_problem,
    multicast_problem,
    pointee_problem,
    tile_type_problem,
)
from tilec.dialect.cuda_tile.enums import Scope
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import BoolTile, Int32Tile, PointerTile
from tilec.dialect.fields import Operand, Result, TypeVariable
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import ScalarInteger, TiledView, Token, of_tilex
from tilec.dialect.tilex.view_rules import operand_count_problem

COUNTING = ("inc", "dec")
CountingMode = Enumeration(*COUNTING)
Order = Enumeration("relaxed", "acquire", "release", "acq_rel")
Relaxed = Enumeration("relaxed")
ViewScope = Enumeration("tl_blk", "device")
Bound = TypeVariable("Bound", of_tilex(Int32Tile))


class AtomicRmwTkoOp(Operation, name="atomic_rmw_tko"):
    """Counts memory up or down, unsigned; the result is the previous content (undefined where the mask is false).

    inc: old >= arg ? 0 : old + 1. dec: old == 0 or old > arg ? arg : old - 1.
    """

    result: Result[Bound]
    result_token: Result[Token]
    pointers: Operand[of_tilex(PointerTile)]
    arg: Operand[Bound]
    mask: Operand[of_tilex(BoolTile)] | None
    token: Operand[Token] | None
    memory_ordering_semantics: Order
    memory_scope: Scope
    mode: CountingMode
    rules = [same_shape("pointers", "arg")]
    assembly = (
        "$memory_ordering_semantics $memory_scope $pointers, $mode, $arg{, $mask}{ token=$token} attr-dict"
        " : type($pointers), type($arg){, type($mask)} -> type($result), type($result_token)"
    )

    def check_types(self) -> str | None:
        refused = "multicast pointer is not supported for atomic_rmw"
        return mask_problem(self.mask, self.pointers) or pointee_problem(self.pointers, self.arg, refused)


class AtomicRedViewTkoOp(Operation, name="atomic_red_view_tko"):
    """Counts the tile of a view at index up or down to the bounds `value`, unsigned, as `atomic_rmw_tko`."""

    result_token: Result[Token]
    view: Operand[TiledView]
    index: Sequence[Operand[ScalarInteger]]
    value: Operand[of_tilex(Int32Tile)]
    token: Operand[Token] | None
    memory_ordering_semantics: Relaxed
    memory_scope: ViewScope
    mode: CountingMode
    inbounds: Booleans | None
    assembly = (
        "$memory_ordering_semantics $memory_scope $view[$index], $mode, $value{ token = $token}"
        "{ inbounds = [$inbounds]} attr-dict"
        " : type($value), type($view)index_types($index) -> type($result_token)"
    )

    def check_types(self) -> str | None:
        return (
            tile_type_problem(self.view.type, self.value.type, "value")
            or operand_count_problem("index", self.index, self.view.type.rank)
            or inbounds_problem(self)
            or multicast_problem(self.view.type)
        )
