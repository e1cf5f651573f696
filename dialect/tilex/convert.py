"""Conversions of narrow floats: to and from their codes in bytes, and to and from 6-bit floats, which Tile IR lacks."""

from tilec.dialect.cuda_tile.element import ELEMENT_BITS, EXTENSION_FLOATS, FLOATS
from tilec.dialect.cuda_tile.enums import FloatConversionRounding
from tilec.dialect.cuda_tile.rules import same_shape
from tilec.dialect.cuda_tile.sets import tile_of
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ext
from tilec.dialect.spelling import spell
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import of_tilex

# The floats of less than 8 bits.
CODED = tuple(name for name in (*FLOATS, *EXTENSION_FLOATS) if ELEMENT_BITS[name] < ELEMENT_BITS["i8"])
FloatTile = of_tilex(tile_of("FloatTile", (*FLOATS, *EXTENSION_FLOATS)))
CodedTile = of_tilex(tile_of("CodedTile", ("i8", *CODED)))


class BitcastOp(Operation, name="bitcast", traits=[ext.Pure]):
    """Floats of less than 8 bits from the low bits of bytes, or the bytes whose low bits are such floats."""

    result: Result[CodedTile]
    source: Operand[CodedTile]
    rules = [same_shape("source", "result")]
    assembly = "$source attr-dict : type($source) -> type($result)"

    def check_types(self) -> str | None:
        names = spell(self.source.type.element), spell(self.result.type.element)
        if ("i8" in names) == (names[0] != names[1]):
            return None
        return f"expects i8 and one of {' or '.join(CODED)}, but got {names[0]} and {names[1]}"


class FToFOp(Operation, name="ftof", traits=[ext.Pure]):
    """Conversion from or to a float of 6 bits, rounded once to nearest even; it saturates as `cuda_tile.ftof` does."""

    to: Result[FloatTile]
    from_: Operand[FloatTile]
    rounding_mode: FloatConversionRounding = "nearest_even"
    rules = [same_shape("from_", "to")]
    assembly = "$from {rounding<$rounding_mode>} attr-dict : type($from) -> type($to)"

    def check(self) -> str | None:
        source, target = spell(self.from_.type.element), spell(self.to.type.element)
        if source == target or not {source, target} & set(EXTENSION_FLOATS):
            return f"expects one of {' or '.join(EXTENSION_FLOATS)} and another float, but got {source} and {target}"
        if self.rounding_mode != "nearest_even":
            return f"rounding mode must be nearest_even, but got: {self.rounding_mode}"
        return None
