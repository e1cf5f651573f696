"""The operators of Python, and the functions of the module `operator`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

from tilec.ast_to_tile.control_flow.merge import same
from tilec.ast_to_tile.fold import COMPARISONS
from tilec.ast_to_tile.operations.arith import as_signed_number, binary, invert, negate
from tilec.ast_to_tile.operations.convert import to_dtype
from tilec.ast_to_tile.operations.mma import matmul
from tilec.ast_to_tile.values.attributes import element
from tilec.ast_to_tile.values.records import is_generated, special_method
from tilec.ast_to_tile.values.structured_value import is_static
from tilec.ast_to_tile.values.value_text import concatenated
from tilec.ast_to_tile.values.values import KernelValue, Record, Text, Tile, TypedConstant, describe, is_tile_like
from tilec.errors import TileTypeError, TileValueError
from tilec.language.datatypes import bool_

if TYPE_CHECKING:
    from tilec.ast_to_tile.tracer import Tracer

# Longer tuples would fill the memory.
MAXIMUM_LENGTH = 65536
# The special methods of a binary operation: of the left operand, and of the right operand.
_METHODS = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__", "__rsub__"),
    "mul": ("__mul__", "__rmul__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "truediv": ("__truediv__", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"),
    "mod": ("__mod__", "__rmod__"),
    "divmod": ("__divmod__", "__rdivmod__"),
    "pow": ("__pow__", "__rpow__"),
    "lshift": ("__lshift__", "__rlshift__"),
    "rshift": ("__rshift__", "__rrshift__"),
    "and": ("__and__", "__rand__"),
    "xor": ("__xor__", "__rxor__"),
    "or": ("__or__", "__ror__"),
    "eq": ("__eq__", "__eq__"),
    "ne": ("__ne__", "__ne__"),
    "lt": ("__lt__", "__gt__"),
    "le": ("__le__", "__ge__"),
    "gt": ("__gt__", "__lt__"),
    "ge": ("__ge__", "__le__"),
}


def operate(tracer: Tracer, name: str, x: KernelValue, y: KernelValue) -> KernelValue:
    """x <name> y for tiles and numbers; + concatenates tuples, * repeats a tuple; records have special methods."""
    if isinstance(x, Record) or isinstance(y, Record):
        return _operate_on_records(tracer, name, x, y)
    if name in COMPARISONS:
        return _compare(tracer, name, x, y)
    if name == "matmul":
        return matmul(tracer.emitter, x, y)
    if isinstance(x, tuple) and isinstance(y, tuple) and name == "add":
        return x + y
    if isinstance(x, tuple) and isinstance(y, int) and name == "mul":
        if len(x) * y > MAXIMUM_LENGTH:
            raise TileValueError(f"the tuple has {len(x) * y} elements: at most {MAXIMUM_LENGTH} are supported")
        return x * y
    if isinstance(x, str | Text) and isinstance(y, str | Text) and name == "add":
        return concatenated([x, y])
    return binary(tracer.emitter, name, x, y)


def _operate_on_records(tracer: Tracer, name: str, x: KernelValue, y: KernelValue) -> KernelValue:
    of_left, of_right = _METHODS[name]
    for receiver, other, method in ((x, y, of_left), (y, x, of_right)):
        function = special_method(receiver, method) if isinstance(receiver, Record) else None
        if function is not None and not is_generated(function):
            result = tracer.emitter.call(function, [receiver, other])
            if result is not NotImplemented:
                return result
    if name in ("eq", "ne"):
        equal = _equal_records(tracer, x, y)
        return equal if name == "eq" else negation(tracer, equal)
    if isinstance(x, Record) and isinstance(y, Record) and x.kind is y.kind and special_method(x, of_left) is not None:
        return _ordered(tracer, name, x.fields, y.fields)
    raise TileTypeError(f"{describe(x)} and {describe(y)} do not define '{of_left}'")


def _equal_records(tracer: Tracer, x: KernelValue, y: KernelValue) -> bool | Tile:
    if isinstance(x, Record) and isinstance(y, Record) and x.kind is y.kind:
        if special_method(x, "__eq__") is None:
            raise TileTypeError(f"'{x.kind.__name__}' does not define equality: declare the dataclass with eq=True")
        return _equal_tuples(tracer, x.fields, y.fields)
    return False


def _compare(tracer: Tracer, name: str, x: KernelValue, y: KernelValue) -> KernelValue:
    if is_tile_like(x) and is_tile_like(y):
        return binary(tracer.emitter, name, x, y)
    if isinstance(x, str) and isinstance(y, str):
        return bool(COMPARISONS[name](x, y))
    if name not in ("eq", "ne"):
        raise TileTypeError(f"{describe(x)} and {describe(y)} cannot be compared by order: compare numbers")
    if isinstance(x, tuple) and isinstance(y, tuple):
        equal = _equal_tuples(tracer, x, y)
        return equal if name == "eq" else negation(tracer, equal)
    if not is_static(x) or not is_static(y):
        raise TileTypeError(f"{describe(x)} and {describe(y)} cannot be compared")
    return (_plain(x) == _plain(y)) == (name == "eq")


def _plain(value: KernelValue) -> KernelValue:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.value if isinstance(value, TypedConstant) else value


def _equal_tuples(tracer: Tracer, x: tuple[KernelValue, ...], y: tuple[KernelValue, ...]) -> bool | Tile:
    """Whether all elements are equal; elements after a constant inequality are not compared."""
    if len(x) != len(y):
        return False
    result: KernelValue = True
    for one, other in zip(x, y, strict=True):
        equal = equal_scalars(tracer, one, other)
        if equal is False:
            return False
        result = conjunction(tracer, result, equal)
    return tracer.truth(result)


def _ordered(tracer: Tracer, name: str, x: tuple[KernelValue, ...], y: tuple[KernelValue, ...]) -> bool | Tile:
    """`x <name> y` for the fields of dataclasses with order=True: the first unequal fields decide."""
    if not x:
        return name in ("le", "ge")
    if len(x) == 1:
        return _scalar_comparison(tracer, name, x[0], y[0])
    strict = _scalar_comparison(tracer, name.replace("e", "t"), x[0], y[0])
    tie = conjunction(tracer, equal_scalars(tracer, x[0], y[0]), _ordered(tracer, name, x[1:], y[1:]))
    return disjunction(tracer, strict, tracer.truth(tie))


def _scalar_comparison(tracer: Tracer, name: str, x: KernelValue, y: KernelValue) -> bool | Tile:
    return tracer.truth(operate(tracer, name, x, y))


def equal_scalars(tracer: Tracer, x: KernelValue, y: KernelValue) -> bool | Tile:
    """Whether two elements of tuples are equal; raises TileTypeError for arrays, and for tiles of many elements."""
    for value in (x, y):
        if isinstance(value, Tile) and value.shape:
            raise TileTypeError(f"tuples can be compared if their elements are scalars, got {describe(value)}")
    return tracer.truth(operate(tracer, "eq", x, y))


def conjunction(tracer: Tracer, x: KernelValue, y: KernelValue) -> KernelValue:
    """x and y, both of bool."""
    if isinstance(x, bool):
        return y if x else x
    if isinstance(y, bool):
        return x if y else y
    return binary(tracer.emitter, "and", x, y)


def disjunction(tracer: Tracer, x: bool | Tile, y: bool | Tile) -> bool | Tile:
    """x or y, both of bool."""
    if isinstance(x, bool):
        return x or y
    if isinstance(y, bool):
        return y or x
    return tracer.truth(binary(tracer.emitter, "or", x, y))


def negation(tracer: Tracer, value: KernelValue) -> bool | Tile:
    """not value; of a tile, element by element."""
    truth = to_dtype(tracer.emitter, value, bool_) if isinstance(value, Tile) else tracer.truth(value)
    return not truth if isinstance(truth, bool) else invert(tracer.emitter, truth)


def contained(tracer: Tracer, x: KernelValue, y: KernelValue) -> bool | Tile:
    """x in y; elements of a tuple after a constant equality are not compared."""
    if isinstance(y, dict) and not isinstance(x, str | int):
        raise TileTypeError(f"expected a constant key of a dictionary, got {describe(x)}")
    if isinstance(y, tuple):
        return _contained_in_tuple(tracer, x, y)
    if isinstance(y, dict):
        return x in y
    if not is_static(x) or not is_static(y) or not isinstance(y, list | str | set | frozenset):
        raise TileTypeError(f"'in' takes scalars and tuples, got {describe(x)} and {describe(y)}")
    return _plain(x) in y


def _contained_in_tuple(tracer: Tracer, x: KernelValue, y: tuple[KernelValue, ...]) -> bool | Tile:
    result: bool | Tile = False
    for item in y:
        equal = equal_scalars(tracer, x, item)
        if equal is True:
            return True
        if isinstance(equal, Tile):
            result = disjunction(tracer, result, equal)
    return result


def identical(x: KernelValue, y: KernelValue) -> bool:
    """x is y; raises TileTypeError for tiles, which have no identity, unless one operand is None."""
    if (isinstance(x, Tile) or isinstance(y, Tile)) and x is not None and y is not None:
        raise TileTypeError(
            f"'is' compares constants, or a value with None, got {describe(x)} and {describe(y)}: use '=='"
        )
    return same(x, y)


def unary(tracer: Tracer, name: str, value: KernelValue) -> KernelValue:
    """`neg`, `pos` or `invert` of a tile or a number."""
    if not is_tile_like(value):
        raise TileTypeError(f"expected a tile or a number, got {describe(value)}")
    if name == "invert" and _is_boolean_constant(value):
        raise TileTypeError("'~' of a boolean constant is an integer in Python: use 'not', or ct.bitwise_not")
    return _UNARY[name](tracer.emitter, value)


def _is_boolean_constant(value: KernelValue) -> bool:
    return isinstance(value, bool) or isinstance(value, TypedConstant) and value.dtype.is_boolean


_UNARY = {"neg": negate, "pos": as_signed_number, "invert": invert}


def _binary_function(name: str) -> Callable[..., KernelValue]:
    return lambda tracer, x, y: operate(tracer, name, x, y)


def _unary_function(name: str) -> Callable[..., KernelValue]:
    return lambda tracer, x: unary(tracer, name, x)


# The functions of the module `operator`; each receives the tracer and the operands.
FUNCTIONS: dict[Callable[..., object], Callable[..., KernelValue]] = {
    **{
        getattr(operator, f"{name}_" if name in ("and", "or") else name): _binary_function(name)
        for name in _METHODS
        if name != "divmod"
    },
    **{getattr(operator, name): _unary_function(name) for name in _UNARY},
    operator.not_: negation,
    operator.is_: lambda tracer, x, y: identical(x, y),
    operator.is_not: lambda tracer, x, y: not identical(x, y),
    operator.getitem: lambda tracer, value, key: element(tracer.emitter, value, key),
}
