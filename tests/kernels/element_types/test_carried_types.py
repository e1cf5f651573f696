"""Loops and branches carry values of every type, in the interpreter and in the simulator of both targets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilec

TARGETS = ("sm_100a", "sm_90a")
# The integer type that has the same bits in memory, and the operations that make a tile of the type and undo it.
BITS = {
    "i1": ("i8", "trunci", "exti {} unsigned"),
    "i8": ("i8", None, None),
    "i16": ("i16", None, None),
    "i32": ("i32", None, None),
    "i64": ("i64", None, None),
    "f16": ("i16", "bitcast", "bitcast {}"),
    "bf16": ("i16", "bitcast", "bitcast {}"),
    "f32": ("i32", "bitcast", "bitcast {}"),
    "tf32": ("f32", "ftof", "ftof {}"),
    "f64": ("i64", "bitcast", "bitcast {}"),
    "f8E4M3FN": ("i8", "bitcast", "bitcast {}"),
    "f8E5M2": ("i8", "bitcast", "bitcast {}"),
    "f8E8M0FNU": ("i8", "bitcast", "bitcast {}"),
    "ptr<f32>": ("i64", "int_to_ptr", "ptr_to_int {}"),
    "ptr<i8>": ("i64", "int_to_ptr", "ptr_to_int {}"),
}
# One element, several threads for each, one per thread, and several in a register of 32 bits.
SHAPES = ("", "4x", "8x16x", "16x64x")
# A program that computes %r from %x and %y of type T, the number %n of 5 and the conditions %no and %yes; "x" or "y".
STRUCTURES = {
    "for": (
        """%r, %s = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%p = %x, %q = %y) -> (T, T) {
             continue %q, %p : T, T
           }""",
        "y",
    ),
    "for of no iterations": (
        """%r = for %i in (%n to %c0, step %c1) : tile<i32> iter_values(%p = %x) -> (T) { continue %y : T }""",
        "x",
    ),
    "loop": (
        """%r = loop iter_values(%p = %x, %q = %y, %k = %c0) : T, T, tile<i32> -> T {
             %e = cmpi equal %k, %n, signed : tile<i32> -> tile<i1>
             if %e { break %p : T }
             %m = addi %k, %c1 : tile<i32>
             continue %q, %p, %m : T, T, tile<i32>
           }""",
        "y",
    ),
    "loop that one break of two leaves": (
        """%r, %s = loop iter_values(%k = %c0) : tile<i32> -> T, tile<i32> {
             %m = addi %k, %c1 : tile<i32>
             %e = cmpi equal %k, %n, signed : tile<i32> -> tile<i1>
             if %e { break %y, %k : T, tile<i32> } else { if %no { break %x, %c0 : T, tile<i32> } }
             continue %m : tile<i32>
           }""",
        "y",
    ),
    "if": ("%r = if %no -> (T) { yield %x : T } else { yield %y : T }", "y"),
    "nested ifs": (
        """%r, %s = if %yes -> (T, T) {
             %a = if %no -> (T) { yield %y : T } else { yield %x : T }
             yield %a, %y : T, T
           } else { yield %y, %x : T, T }""",
        "x",
    ),
    "if in for": (
        """%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%p = %x) -> (T) {
             %e = cmpi equal %i, %c1, signed : tile<i32> -> tile<i1>
             %a = if %e -> (T) { yield %y : T } else { yield %p : T }
             continue %a : T
           }""",
        "y",
    ),
    "early continue": (
        """%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%p = %x) -> (T) {
             %e = cmpi less_than %i, %c1, signed : tile<i32> -> tile<i1>
             if %e { continue %y : T }
             %a = if %no -> (T) { continue %x : T } else { yield %p : T }
             continue %a : T
           }""",
        "y",
    ),
    "loops in a branch of a loop": (
        """%r = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%p = %x) -> (T) {
             %a = if %yes -> (T) {
               %b = loop iter_values(%q = %p) : T -> T {
                 %d = for %j in (%c0 to %c1, step %c1) : tile<i32> iter_values(%u = %q) -> (T) { continue %y : T }
                 break %d : T
               }
               yield %b : T
             } else { yield %p : T }
             continue %a : T
           }""",
        "y",
    ),
    "return in a loop": (
        """%r = loop iter_values(%p = %y, %k = %c0) : T, tile<i32> -> T {
             %m = addi %k, %c1 : tile<i32>
             %e = cmpi equal %k, %n, signed : tile<i32> -> tile<i1>
             if %e { STORE(%p) return }
             if %no { break %x : T }
             continue %p, %m : T, tile<i32>
           }""",
        "y",
    ),
    "tokens beside values": (
        """%m = make_token : token
           %r, %s = for %i in (%c0 to %n, step %c1) : tile<i32> iter_values(%p = %x, %t = %m) -> (T, token) {
             %a, %u = if %yes -> (T, token) { yield %y, %t : T, token } else { yield %p, %m : T, token }
             continue %a, %u : T, token
           }""",
        "y",
    ),
}
# Every type in every structure; the shapes alternate, so that each occurs with each type and each structure.
CASES = [
    (element, SHAPES[number % len(SHAPES)], structure)
    for number, (structure, element) in enumerate(itertools.product(STRUCTURES, BITS))
]


def stored(value: str, element: str, shape: str, number: int) -> str:
    """Stores a tile of the element type as integers."""
    integer, _, back = BITS[element]
    tile, ints = f"tile<{shape}{element}>", f"tile<{shape}{integer}>"
    text = f"%out{number} = {back.format(value)} : {tile} -> {ints}\n" if back else ""
    source = f"%out{number}" if back else value
    return text + f"%t{number} = store_ptr_tko weak %zs, {source} : tile<{shape}ptr<{integer}>>, {ints} -> token\n"


def addresses(name: str, base: str, integer: str, shape: str) -> str:
    """The addresses of the elements of a row-major tile."""
    if not shape:
        pointer = f"tile<ptr<{integer}>>"
        return f"%{name}s = offset {base}, %c0 : {pointer}, tile<i32> -> {pointer}\n"
    extents = [int(extent) for extent in shape.split("x")[:-1]]
    count = int(np.prod(extents))
    pointers, one = f"tile<{shape}ptr<{integer}>>", f"tile<{'1x' * len(extents)}ptr<{integer}>>"
    return (
        f"%{name}0 = iota : tile<{count}xi32>\n"
        f"%{name}1 = reshape %{name}0 : tile<{count}xi32> -> tile<{shape}i32>\n"
        f"%{name}2 = reshape {base} : tile<ptr<{integer}>> -> {one}\n"
        f"%{name}3 = broadcast %{name}2 : {one} -> {pointers}\n"
        f"%{name}s = offset %{name}3, %{name}1 : {pointers}, tile<{shape}i32> -> {pointers}\n"
    )


def loaded(name: str, element: str, shape: str) -> str:
    integer, make, _ = BITS[element]
    ints, target = f"tile<{shape}{integer}>", f"%{name}" if make is None else f"%{name}i"
    text = f"{target}, %{name}t = load_ptr_tko weak %{name}ps : tile<{shape}ptr<{integer}>> -> {ints}, token\n"
    return text + (f"%{name} = {make} %{name}i : {ints} -> tile<{shape}{element}>\n" if make else "")


def module_of(element: str, shape: str, structure: str) -> str:
    integer, tile = BITS[element][0], f"tile<{shape}{element}>"
    text = STRUCTURES[structure][0]
    for number, value in enumerate(("%p", "%x")):
        text = text.replace(f"STORE({value})", stored(value, element, shape, number))
    text = text.replace("(T", f"({tile}").replace(" T", f" {tile}")
    pointer = f"tile<ptr<{integer}>>"
    parameters = ", ".join(f"%{name}: {pointer}" for name in ("px", "py", "pz"))
    bases = "".join(
        addresses(name, base, integer, shape) for name, base in (("xp", "%px"), ("yp", "%py"), ("z", "%pz"))
    )
    return f"""entry @k({parameters}, %n: tile<i32>, %no: tile<i1>, %yes: tile<i1>) {{
      %c0 = constant <i32: 0> : tile<i32>
      %c1 = constant <i32: 1> : tile<i32>
      {bases}
      {loaded("x", element, shape)}{loaded("y", element, shape)}
      {text}
      {stored("%r", element, shape, 2)}
      return
    }}"""


def values(element: str, shape: str, seed: int) -> np.ndarray:
    random, count = np.random.default_rng(seed), int(np.prod([int(extent) for extent in shape.split("x")[:-1]]))
    if element == "tf32":
        # Sums of few powers of two, which tf32 represents exactly.
        return random.integers(-512, 512, count).astype(np.float32)
    found = random.integers(0, 256, (count, 8)).astype(np.uint8).view(np.int64).ravel()
    return (found & 1 if element == "i1" else found).astype(BITS[element][0].replace("i", "int"))


@pytest.mark.parametrize(("element", "shape", "structure"), CASES)
def test_carried(element, shape, structure):
    module = tilec.Module.parse(module_of(element, shape, structure))
    x, y = values(element, shape, 1), values(element, shape, 2)
    expected = y if STRUCTURES[structure][1] == "y" else x
    for target in TARGETS:
        compiled = tilec.compile(module, target=target, stop="ptx")
        for backend in ("simulate", "interpret"):
            z = np.zeros_like(x)
            tilec.run(compiled, (1,), [x, y, z, 5, False, True], backend=backend)
            assert np.array_equal(z, expected), (target, backend)
