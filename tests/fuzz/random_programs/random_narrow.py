"""Values of types without arithmetic of 8 bits and less, and tiles as bytes.

Arrays of numpy have the codes of f4E2M1FN and fnv8E5M3FNU in bytes. Each function takes (builder, element, shape,
depth, bound) and returns a value or None.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from elements import ARITHMETIC_FLOATS, ELEMENTS, INTEGERS, NARROW_FLOATS
from program_text import Environment, Shape, Step, Value, tile_type

if TYPE_CHECKING:
    from random_values import Builder


def _values(element: str) -> np.ndarray:
    """The numbers of the codes without sign, but for NaN."""
    if element == "f4E2M1FN":
        return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    if element == "f8E8M0FNU":
        return np.ldexp(1.0, np.arange(255) - 127)
    code = np.arange(255)
    normal = np.ldexp(8.0 + (code & 7), (code >> 3) - 18)
    return np.where(code < 8, np.ldexp(code.astype(np.float64), -17), normal)


VALUES = {element: _values(element) for element in NARROW_FLOATS}


def decoded(element: str, array: np.ndarray) -> np.ndarray:
    """The numbers of an array of codes, as f64."""
    codes, values = array.view(np.uint8), VALUES[element]
    if element == "f4E2M1FN":
        return np.concatenate([values, -values])[codes]
    return np.append(values, np.nan)[codes]


def encoded(element: str, mode: str, numbers: np.ndarray) -> np.ndarray:
    """The codes of f64 numbers, those of types without sign not negative; out of range the nearest limit."""
    values = VALUES[element]
    magnitude = np.minimum(np.abs(numbers), values[-1])
    upper = np.searchsorted(values, np.nan_to_num(magnitude, nan=values[-1]))
    lower = np.where((values[upper] == magnitude) | (upper == 0), upper, upper - 1)
    to_lower, to_upper = magnitude - values[lower], values[upper] - magnitude
    nearest = np.where((to_lower < to_upper) | ((to_lower == to_upper) & (lower % 2 == 0)), lower, upper)
    codes = {"nearest_even": nearest, "zero": lower, "positive_inf": upper}[mode]
    if element == "f4E2M1FN":
        codes = np.where(np.isnan(numbers), 7, codes + 8 * np.signbit(numbers))
    else:
        codes = np.where(np.isnan(numbers), 255, codes)
    return codes.astype(np.uint8).view(ELEMENTS[element].dtype)


def is_possible(element: str, shape: Shape) -> bool:
    """Whether a tile of this shape exists: one of f4E2M1FN has an even extent."""
    return element != "f4E2M1FN" or prod(shape) > 1


def narrow_constant(build: Builder, element: str, shape: Shape) -> Value:
    """Equal elements; Tile IR has no constants of i4."""
    if element == "i4":
        return cut(build, build.constant("i8", build.source.randrange(-128, 128), shape))
    code = build.source.randrange(len(VALUES[element]))
    return constant_of_code(build, element, code, shape)


def constant_of_code(build: Builder, element: str, code: int, shape: Shape) -> Value:
    array = np.full(shape, code, np.uint8).view(ELEMENTS[element].dtype)
    result = build.value(element, shape)
    number = float(VALUES[element][code])
    return build.compute(f"constant <{element}: {number!r}> : {result.type}", result, [], lambda: array)


def packed_leaf(build: Builder, element: str, shape: Shape) -> Value:
    """Elements of 4 bits: equal ones, the parts of bytes, or a load of a view."""
    kind = build.source.randrange(4)
    if kind == 0 or prod(shape) < 2:
        return narrow_constant(build, element, shape)
    if kind == 1 and element == "f4E2M1FN" and shape[-1] > 1:
        return _loaded(build, shape)
    stored = build._leaf("i8", (prod(shape) // 2,), None)
    return build.reshape(_unpacked(build, element, stored), shape)


def _unpacked(build: Builder, element: str, stored: Value) -> Value:
    bits = _packed_bits(element)
    result = build.value(element, (stored.shape[0] * 8 // bits,))
    return build.compute(
        f"unpack {{0}} : {stored.type} -> {result.type}", result, [stored], lambda array: _parts(element, array)
    )


def _parts(element: str, array: np.ndarray) -> np.ndarray:
    """The elements in bytes."""
    stored = np.ascontiguousarray(array).view(np.uint8)
    if element == "i1":
        return np.unpackbits(stored, bitorder="little").astype(np.bool_)
    if ELEMENTS[element].bits > 4:
        return stored.view(ELEMENTS[element].dtype)
    halves = np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)
    return ((halves ^ 8).astype(np.int8) - 8).astype(np.int8) if element == "i4" else halves


def _stored(element: str, array: np.ndarray) -> np.ndarray:
    """The bytes of elements."""
    if element == "i1":
        return np.packbits(array, bitorder="little").view(np.int8)
    if ELEMENTS[element].bits > 4:
        return np.ascontiguousarray(array).view(np.int8)
    codes = array.view(np.uint8) & 15
    return (codes[0::2] | codes[1::2] << 4).view(np.int8)


def _loaded(build: Builder, shape: Shape) -> Value:
    """A tile of f4E2M1FN loaded through a view with rows of an even number of elements, with a gap between them."""
    rows, row = prod(shape[:-1]), shape[-1]
    extent = build.source.choice((row, row, max(2, row - 2)))
    stride = extent + build.source.choice((0, 0, 2, 16, 32))
    codes = build.arrays.integers(0, 16, (rows, stride)).astype(np.uint8)
    base = build.parameter(tile_type("ptr<f4E2M1FN>"), (codes[:, 0::2] | codes[:, 1::2] << 4).reshape(-1))
    padding, fill = build.source.choice((("zero", 0), ("neg_zero", 8)))
    tensor = f"tensor_view<{rows}x{extent}xf4E2M1FN, strides=[{stride},1]>"
    kind = f"partition_view<tile=({rows}x{row}), padding_value = {padding}, {tensor}>"
    view, tile, token, zero = build.name(), build.name(), build.name(), build.constant("i32", 0)
    result = build.value("f4E2M1FN", (rows, row))
    text = (
        f"{tile} = make_tensor_view {base}, shape = [{rows}, {extent}], strides = [{stride}, 1] : {tensor}\n"
        f"{view} = make_partition_view {tile} : {kind}\n"
        f"{result.name}, {token} = load_view_tko weak {view}[{zero.name}, {zero.name}] : "
        f"{kind}, tile<i32> -> {result.type}, token"
    )
    array = np.full((rows, row), fill, np.uint8)
    array[:, :extent] = codes[:, :extent]
    build.add(Step(text, lambda environment: environment.__setitem__(result, array), [result], [zero]))
    return build.reshape(result, shape)


def narrow_from_float(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """Floats rounded to a narrow type; their magnitudes for a type without sign."""
    if element == "i4":
        return None
    source = build.source.choice(ARITHMETIC_FLOATS)
    value = build.random_value(source, shape, depth)
    if element != "f4E2M1FN":
        magnitude = build.value(source, shape)
        value = build.compute(f"absf {{0}} : {value.type}", magnitude, [value], np.abs)
    mode = build.source.choice(("zero", "positive_inf")) if element == "f8E8M0FNU" else "nearest_even"
    result = build.value(element, shape)
    rounding = "" if mode == "nearest_even" else f" rounding<{mode}>"
    text = f"ftof {{0}}{rounding} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: encoded(element, mode, array.astype(np.float64)))


def narrow_from_narrow(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """The bits of another type of 8 bits, or integers cut to 4 bits."""
    if element == "f4E2M1FN":
        return None
    value = build.random_value("i8" if element != "i4" else build.source.choice(INTEGERS), shape, depth)
    if element == "i4":
        return cut(build, value)
    result = build.value(element, shape)
    dtype = ELEMENTS[element].dtype
    text = f"bitcast {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: np.ascontiguousarray(array).view(dtype))


def cut(build: Builder, value: Value) -> Value:
    """The low 4 bits of integers."""
    result = build.value("i4", value.shape)
    text = f"trunci {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: ((array & 15) ^ 8).astype(np.int8) - 8)


def float_from_narrow(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """The exact values of a narrow type."""
    others = [name for name in NARROW_FLOATS if is_possible(name, shape)]
    if bound is not None or element not in ("f32", "f64"):
        return None
    value = build.random_value(build.source.choice(others), shape, depth)
    return widened(build, value, element)


def widened(build: Builder, value: Value, element: str) -> Value:
    result = build.value(element, value.shape)
    text = f"ftof {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: decoded(value.element, array))


def integer_from_narrow(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """i4 extended, or the bits of a narrow type of 8 bits."""
    if element == "i8" and build.source.random() < 0.4:
        value = build.random_value(build.source.choice(("f8E8M0FNU", "fnv8E5M3FNU")), shape, depth)
        result = build.value(element, shape)
        text = f"bitcast {{0}} : {value.type} -> {result.type}"
        return build.compute(text, result, [value], lambda array: np.ascontiguousarray(array).view(np.int8))
    return extended(build, build.random_value("i4", shape, depth), element)


def extended(build: Builder, value: Value, element: str) -> Value:
    result, mask = build.value(element, value.shape), 15
    if build.source.random() < 0.5:
        return build.compute(f"exti {{0}} signed : {value.type} -> {result.type}", result, [value], lambda array: array)
    text = f"exti {{0}} unsigned : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: array.astype(np.int64) & mask)


def repacked(build: Builder, element: str, shape: Shape, depth: int, bound: int | None) -> Value | None:
    """A tile of one dimension from its bytes, or the bytes of one."""
    if len(shape) != 1 or bound is not None or prod(shape) > 1024:
        return None
    if element != "i8":
        bits = _packed_bits(element)
        if shape[0] * bits % 8 or bits == 8 or element not in (*INTEGERS, "i1", "i4", "f4E2M1FN"):
            return None
        return _unpacked(build, element, build.random_value("i8", (shape[0] * bits // 8,), depth))
    source = build.source.choice(list(_PACKED_SHARE))
    bits = _packed_bits(source)
    if shape[0] * 8 % bits:
        return None
    value = build.random_value(source, (shape[0] * 8 // bits,), depth)
    return _packed(build, value) if _has_known_bits(build, value) else None


def _has_known_bits(build: Builder, value: Value) -> bool:
    """Whether no element is a zero of either sign, as after sums, minima and maxima."""
    return value.element != "f4E2M1FN" or not build.sums


def _packed_bits(element: str) -> int:
    """The bits of an element of pack and unpack."""
    return 1 if element == "i1" else ELEMENTS[element].bits


def _packed(build: Builder, value: Value) -> Value:
    """The bytes of a tile of one dimension."""
    result = build.value("i8", (value.shape[0] * _packed_bits(value.element) // 8,))
    text = f"pack {{0}} : {value.type} -> {result.type}"
    return build.compute(text, result, [value], lambda array: _stored(value.element, array))


# How often values are stored as their bytes.
_PACKED_SHARE = {"i4": 0.5, "f4E2M1FN": 0.5, "i1": 0.2, "i16": 0.1, "i32": 0.1, "i64": 0.1}


def storable(build: Builder, value: Value) -> Value:
    """A value of a type whose arrays have an element in each item: elements of 4 bits are widened, or packed."""
    bits = prod(value.shape) * _packed_bits(value.element)
    is_packed = value.shape and bits % 8 == 0 and bits <= 2**14 and _has_known_bits(build, value)
    if is_packed and build.source.random() < _PACKED_SHARE.get(value.element, 0.0):
        return _packed(build, build.reshape(value, (prod(value.shape),)))
    if value.element == "i4":
        return extended(build, value, build.source.choice(INTEGERS))
    if value.element == "f4E2M1FN":
        return widened(build, value, build.source.choice(("f16", "bf16", "f32", "f64")))
    return value


def is_stored_in_pairs(build: Builder, value: Value) -> bool:
    return value.element == "f4E2M1FN" and value.shape[-1] > 1 and build.source.random() < 0.6


def store_pairs(build: Builder, value: Value, output_index: Value, parts: int) -> None:
    """Stores rows of f4E2M1FN through a view of as many tiles as `parts`."""
    rows, row = prod(value.shape[:-1]), value.shape[-1]
    flat = build.reshape(value, (rows, row))
    base = build.parameter(tile_type("ptr<f4E2M1FN>"), np.full((parts * rows, row // 2), 5, np.uint8), output=True)
    tensor = f"tensor_view<{parts * rows}x{row}xf4E2M1FN, strides=[{row},1]>"
    kind = f"partition_view<tile=({rows}x{row}), {tensor}>"
    name, view, zero, token = build.name(), build.name(), build.constant("i32", 0), build.name()
    text = (
        f"{name} = make_tensor_view {base}, shape = [{parts * rows}, {row}], strides = [{row}, 1] : {tensor}\n"
        f"{view} = make_partition_view {name} : {kind}\n"
        f"{token} = store_view_tko weak {flat.name}, {view}[{output_index.name}, {zero.name}] : "
        f"{flat.type}, {kind}, tile<i32> -> token"
    )

    def run(environment: Environment) -> None:
        codes, start = environment[flat], int(environment[output_index]) * rows
        environment.memory[base][start : start + rows] = codes[:, 0::2] | codes[:, 1::2] << 4

    build.add(Step(text, run, (), [flat, output_index, zero], True))
