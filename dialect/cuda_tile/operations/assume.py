"""Assumptions about values."""

from tilec.dialect.cache import cached
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, Predicate, SameElementsAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, INTEGERS
from tilec.dialect.cuda_tile.operation import NoMemoryEffect, Operation
from tilec.dialect.cuda_tile.sets import Any_
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType
from tilec.dialect.fields import Operand, Result
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import quote, spell

_MAXIMUM_DIVISOR = 1 << 62


class AssumeOp(Operation, name="assume", opcode=0x06, traits=[NoMemoryEffect]):
    """The value, assuming that the predicate holds; otherwise the behaviour is undefined."""

    result: Result[Any_]
    value: Operand[Any_]
    predicate: Predicate
    assembly = "$predicate, $value attr-dict : type($value)"

    def check(self) -> str | None:
        return _problem(self.predicate, self.value.type)


@cached
def _problem(predicate: DivByAttr | BoundedAttr | SameElementsAttr, type: ir.Type) -> str | None:
    if isinstance(predicate, DivByAttr):
        return _div_by_problem(predicate, type)
    if isinstance(predicate, BoundedAttr):
        return _bounded_problem(predicate, type)
    return _same_elements_problem(predicate, type)


def _integer_tile(type: ir.Type) -> bool:
    return isinstance(type, TileType) and spell(type.element) in INTEGERS


def _address_tile(type: ir.Type) -> bool:
    return _integer_tile(type) or isinstance(type, TileType) and isinstance(type.element, PointerType)


def _div_by_problem(predicate: DivByAttr, type: ir.Type) -> str | None:
    divisor, every, along = predicate.divisor, predicate.every, predicate.along
    if divisor <= 0 or divisor & (divisor - 1) or divisor > _MAXIMUM_DIVISOR:
        return f"div_by: divisor must be a power of two up to 2^62, but got {divisor}"
    if (every is None) != (along is None):
        return "div_by: 'every' and 'along' must be given together"
    if not _address_tile(type) and not isinstance(type, TensorViewType):
        return f"div_by: expects a tile of integers or pointers or a tensor_view, but got {quote(type)}"
    if every is None:
        return None
    if isinstance(type, TensorViewType) or not type.shape:
        return f"div_by: 'every' and 'along' cannot be used with {quote(type)}"
    if not 0 <= along < type.rank:
        return f"div_by: 'along' must be in [0, {type.rank}), but got {along}"
    if not 0 <= every <= type.shape[along]:
        return f"div_by: 'every' must be in [0, {type.shape[along]}], but got {every}"
    return None


def _same_elements_problem(predicate: SameElementsAttr, type: ir.Type) -> str | None:
    if not _address_tile(type):
        return f"same_elements: expects a tile of integers or pointers, but got {quote(type)}"
    if len(predicate.values) != type.rank:
        return f"same_elements: expects {type.rank} values for {quote(type)}, but got {len(predicate.values)}"
    for value, extent in zip(predicate.values, type.shape, strict=True):
        if not 0 <= value <= extent:
            return f"same_elements: values must be in [0, {extent}], but got {value}"
    return None


def _bounded_problem(predicate: BoundedAttr, type: ir.Type) -> str | None:
    if not _integer_tile(type):
        return f"bounded: expects a tile of integers, but got {quote(type)}"
    half = 1 << (ELEMENT_BITS[spell(type.element)] - 1)
    for name, bound in (("lower", predicate.lower), ("upper", predicate.upper)):
        if bound is not None and not -half <= bound < half:
            return f"bounded: {name} bound {bound} is outside of the range of {spell(type.element)}"
    if predicate.lower is not None and predicate.upper is not None and predicate.lower > predicate.upper:
        return f"bounded: lower bound {predicate.lower} is above upper bound {predicate.upper}"
    return None
