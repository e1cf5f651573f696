"""Reductions, scans and matrix multiplies of random programs, over numbers whose sums are exact in any order."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from elements import ARITHMETIC_FLOATS, ELEMENTS, INTEGERS, unsigned
from program_text import Environment, Shape, Step, Value, tile_type

if TYPE_CHECKING:
    from random_values import Builder

# Operation, its text after the operands, identity, reduction of numpy; for integers by width.
LOGICAL = {"andi": ("true", np.logical_and), "ori": ("false", np.logical_or), "xori": ("false", np.logical_xor)}


def _integer_case(build: Builder, element: str) -> tuple[str, str, str, Callable]:
    bits = ELEMENTS[element].bits
    minimum, maximum = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return build.source.choice(
        (
            ("addi", "", "0", np.add),
            ("muli", "", "1", np.multiply),
            ("andi", "", "-1", np.bitwise_and),
            ("ori", "", "0", np.bitwise_or),
            ("xori", "", "0", np.bitwise_xor),
            ("mini", " signed", str(maximum), np.minimum),
            ("maxi", " signed", str(minimum), np.maximum),
            ("maxi", " unsigned", "0", None),
        )
    )


def _unsigned_maximum(array: np.ndarray, axis: int, accumulate: bool) -> np.ndarray:
    function = np.maximum.accumulate if accumulate else np.maximum.reduce
    return np.asarray(function(unsigned(np.ascontiguousarray(array)), axis=axis)).view(array.dtype)


Case = tuple[str, str, str, Callable | None, int | None, int | None]


def _float_case(build: Builder, element: str, count: int, bound: int | None) -> Case | None:
    """A reduction of floats, with the bounds of the elements and of the result."""
    exact = ELEMENTS[element].exact
    maximum = min(8, exact // count, 8 if bound is None else bound // count)
    if maximum >= 1 and build.source.random() < 0.6:
        return "addf", "", "0.0", np.add, maximum, maximum * count
    if bound is not None and bound < 1:
        return None
    maximum = 8 if bound is None else min(8, bound)
    name, sign, function = build.source.choice((("minf", "", np.minimum), ("maxf", "-", np.maximum)))
    return name, "", f"{sign}100.0", function, maximum, maximum


def _case(build: Builder, element: str, count: int, bound: int | None):
    if element == "i1":
        name = build.source.choice(list(LOGICAL))
        return name, "", LOGICAL[name][0], LOGICAL[name][1], None, None
    if ELEMENTS[element].is_float:
        return _float_case(build, element, count, bound)
    return (*_integer_case(build, element), None, None)


def _body(name: str, modifier: str, element: str) -> tuple[str, str]:
    scalar = tile_type(element)
    return f"(%l: {scalar}, %r: {scalar})", f"%s = {name} %l, %r{modifier} : {scalar}\n  yield %s : {scalar}"


def _identity(element: str, identity: str) -> str:
    return identity if element == "i1" else f"{identity} : {element}"


def _last_nonzero_body(element: str) -> tuple[str, str]:
    """The parameters and the body of an associative operation that is not commutative: the last nonzero element."""
    scalar = tile_type(element)
    lines = [
        f"%none = constant <{element}: 0> : {scalar}",
        f"%c = cmpi not_equal %l, %none, signed : {scalar} -> tile<i1>",
        f"%s = select %c, %l, %r : tile<i1>, {scalar}",
        f"yield %s : {scalar}",
    ]
    return f"(%l: {scalar}, %r: {scalar})", "\n  ".join(lines)


def _last_nonzero(array: np.ndarray, axis: int) -> np.ndarray:
    """The prefixes along an axis of the operation that selects the last nonzero element."""
    elements = np.moveaxis(array, axis, 0)
    found = [elements[0]]
    for element in elements[1:]:
        found.append(np.where(element != 0, element, found[-1]))
    return np.moveaxis(np.array(found), 0, axis)


def reduced(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """A reduction along one dimension of a tile."""
    if element not in (*INTEGERS, "i1", *ARITHMETIC_FLOATS):
        return None
    axis = build.source.randrange(len(shape) + 1)
    count = build.source.choice((1, 2, 4, 8, 16, 32, 64, 128))
    while prod(shape) * count > 8192:
        count //= 2
    source_shape = (*shape[:axis], count, *shape[axis:])
    if element == "i32" and build.source.random() < 0.3:
        return _argmax(build, shape, source_shape, axis, depth)
    if element in INTEGERS and build.source.random() < 0.3:
        value, result = build.masked(build.random_value(element, source_shape, depth), 3), build.value(element, shape)
        parameters, body = _last_nonzero_body(element)
        text = f"reduce {{0}} dim={axis} identities=[0 : {element}] : {value.type} -> {result.type}\n"
        text += f"{parameters} {{{{\n  {body}\n}}}}"
        return build.compute(text, result, [value], lambda array: np.take(_last_nonzero(array, axis), -1, axis))
    case = _case(build, element, count, bound)
    if case is None:
        return None
    name, modifier, identity, function, maximum, result_bound = case
    build.sums |= ELEMENTS[element].is_float
    value = build.random_value(element, source_shape, depth, maximum)
    result = build.value(element, shape, result_bound)
    parameters, body = _body(name, modifier, element)
    text = f"reduce {{0}} dim={axis} identities=[{_identity(element, identity)}] : {value.type} -> {result.type}\n"
    text += f"{parameters} {{{{\n  {body}\n}}}}"

    def compute(array: np.ndarray) -> np.ndarray:
        if function is None:
            return _unsigned_maximum(array, axis, False)
        if ELEMENTS[element].is_float:
            return function.reduce(array.astype(np.float64), axis=axis)
        return function.reduce(array, axis=axis, dtype=array.dtype)

    return build.compute(text, result, [value], compute)


def scanned(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """A scan along one dimension of a tile, in either direction."""
    if element not in (*INTEGERS, *ARITHMETIC_FLOATS):
        return None
    axis = build.source.randrange(len(shape))
    if element in INTEGERS and build.source.random() < 0.3:
        return _scanned_in_order(build, element, shape, axis, depth)
    case = _case(build, element, shape[axis], bound)
    if case is None:
        return None
    name, modifier, identity, function, maximum, result_bound = case
    build.sums |= ELEMENTS[element].is_float
    value = build.random_value(element, shape, depth, maximum)
    result = build.value(element, shape, result_bound)
    reverse = build.source.random() < 0.4
    parameters, body = _body(name, modifier, element)
    text = f"scan {{0}} dim={axis} reverse={str(reverse).lower()} identities=[{_identity(element, identity)}]"
    text += f" : {value.type} -> {result.type}\n{parameters} {{{{\n  {body}\n}}}}"

    def compute(array: np.ndarray) -> np.ndarray:
        array = np.flip(array, axis) if reverse else array
        if function is None:
            found = _unsigned_maximum(array, axis, True)
        elif ELEMENTS[element].is_float:
            found = function.accumulate(array.astype(np.float64), axis=axis)
        else:
            found = function.accumulate(array, axis=axis, dtype=array.dtype)
        return np.flip(found, axis) if reverse else found

    return build.compute(text, result, [value], compute)


def _scanned_in_order(build: Builder, element: str, shape: Shape, axis: int, depth: int) -> Value:
    value, result = build.masked(build.random_value(element, shape, depth), 3), build.value(element, shape)
    reverse = build.source.random() < 0.4
    parameters, body = _last_nonzero_body(element)
    text = f"scan {{0}} dim={axis} reverse={str(reverse).lower()} identities=[0 : {element}]"
    text += f" : {value.type} -> {result.type}\n{parameters} {{{{\n  {body}\n}}}}"

    def compute(array: np.ndarray) -> np.ndarray:
        return np.flip(_last_nonzero(np.flip(array, axis), axis), axis) if reverse else _last_nonzero(array, axis)

    return build.compute(text, result, [value], compute)


def _argmax(build: Builder, shape: Shape, source_shape: Shape, axis: int, depth: int) -> Value:
    """A reduction of two operands: the largest element and its first index."""
    element = build.source.choice((*INTEGERS, *ARITHMETIC_FLOATS))
    is_float = ELEMENTS[element].is_float
    values = build.random_value(element, source_shape, depth, 8 if is_float else None)
    ramp = build.value("i32", (source_shape[axis],))
    numbers = np.arange(source_shape[axis], dtype=np.int32)
    build.compute(f"iota : {ramp.type}", ramp, [], lambda: numbers)
    ones = tuple(extent if dim == axis else 1 for dim, extent in enumerate(source_shape))
    indices = build.broadcast(build.reshape(ramp, ones), source_shape)
    largest, index = build.value(element, shape, values.bound), build.value("i32", shape)
    pair = build.name()
    scalar = tile_type(element)
    lowest = str(-(2 ** (ELEMENTS[element].bits - 1)))
    compare, end, minimum = ("cmpf", "", "-100.0") if is_float else ("cmpi", ", signed", lowest)
    ordered = "ordered " if is_float else ""
    lines = [
        f"{pair}:2 = reduce {values.name}, {indices.name} dim={axis} "
        f"identities=[{minimum} : {element}, {2**31 - 1} : i32]"
        f" : {values.type}, {indices.type} -> {largest.type}, {index.type}",
        f"(%l0: {scalar}, %r0: {scalar}, %l1: tile<i32>, %r1: tile<i32>) {{",
        f"  %g = {compare} greater_than {ordered}%l0, %r0{end} : {scalar} -> tile<i1>",
        f"  %e = {compare} equal {ordered}%l0, %r0{end} : {scalar} -> tile<i1>",
        "  %f = cmpi less_than %l1, %r1, signed : tile<i32> -> tile<i1>",
        "  %t = andi %e, %f : tile<i1>",
        "  %c = ori %g, %t : tile<i1>",
        f"  %v = select %c, %l0, %r0 : tile<i1>, {scalar}",
        "  %i = select %c, %l1, %r1 : tile<i1>, tile<i32>",
        f"  yield %v, %i : {scalar}, tile<i32>",
        "}",
    ]
    largest = Value(f"{pair}#0", element, shape, values.bound)
    index = Value(f"{pair}#1", "i32", shape)

    def run(environment: Environment) -> None:
        array = environment[values]
        environment[largest] = np.asarray(array.max(axis=axis))
        comparable = array.astype(np.float64 if is_float else array.dtype)
        environment[index] = np.asarray(comparable.argmax(axis=axis), np.int32)

    build.sums |= is_float
    build.add(Step("\n".join(lines), run, [largest, index], [values, indices]))
    return index


# Operand type, accumulator type and the bound of operands for which every sum here is exact.
MULTIPLIES = (
    ("f16", "f32", 4), ("f16", "f16", 2), ("bf16", "f32", 4), ("tf32", "f32", 4), ("f32", "f32", 4), ("f64", "f64", 4),
    ("f8E4M3FN", "f32", 2), ("f8E4M3FN", "f16", 2), ("f8E5M2", "f32", 2), ("i8", "i32", 4),
)  # fmt: skip


def multiplied(
    build: Builder, kind: tuple[str, str, int], left: Value, right: Value, accumulator: Value, bound: int
) -> Value:
    """lhs @ rhs + accumulator."""
    if kind[0] == "i8":
        return _multiplied_bytes(build, left, right, accumulator)
    build.sums = True
    result = build.value(kind[1], accumulator.shape, bound)
    text = f"mmaf {{0}}, {{1}}, {{2}} : {left.type}, {right.type}, {result.type}"

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)

    return build.compute(text, result, [left, right, accumulator], compute)


def _multiplied_bytes(build: Builder, left: Value, right: Value, accumulator: Value) -> Value:
    """lhs @ rhs + accumulator, wrapped to i32; each side is signed or unsigned."""
    result = build.value("i32", accumulator.shape)
    signs = [build.source.choice(("signed", "unsigned")) for _ in range(2)]
    text = f"mmai {{0}}, {{1}}, {{2}} {' '.join(signs)} : {left.type}, {right.type}, {result.type}"

    def compute(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        wide = [
            (unsigned(x) if sign == "unsigned" else x).astype(np.int64) for x, sign in zip((a, b), signs, strict=True)
        ]
        return (wide[0] @ wide[1] + c).astype(np.int32)

    return build.compute(text, result, [left, right, accumulator], compute)
