"""Random attributes of Tile IR: those of declared fields, and discardable ones."""

from __future__ import annotations

from random import Random
from typing import Any

from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr, SameElementsAttr
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, FLOATS, INTEGERS
from tilec.dialect.cuda_tile.types import PointerType, TensorViewType, TileType
from tilec.dialect.fields import AttributeField, AttributeKind
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell

_TEXTS = ("", "plain", "a b", 'quote " and \\ back', "tab\tline\n", "ünï", "%", "\x01\x7f")


def text(random: Random) -> str:
    return random.choice(_TEXTS)


def integer(random: Random, bits: int) -> int:
    """A signed integer of `bits` bits, often near the limits of its range or near zero."""
    half = 1 << bits - 1
    near = (0, 1, -1, half - 1, -half)
    return max(-half, min(half - 1, random.choice((*near, random.randrange(-half, half)))))


def _bits(random: Random, element: str) -> str:
    """The hexadecimal bit pattern of a random float of the element type."""
    return f"0x{random.getrandbits(ELEMENT_BITS[element]):0{(ELEMENT_BITS[element] + 3) // 4}X}"


def elements(random: Random, type: TileType) -> ir.Attribute:
    """Random elements of a tile of numbers, or a splat."""
    name, count = spell(type.element), 1
    for extent in type.shape:
        count *= extent

    def scalar() -> str:
        if name == "i1":
            return random.choice(("true", "false"))
        return str(integer(random, ELEMENT_BITS[name])) if name in INTEGERS else _bits(random, name)

    values = [scalar() for _ in range(count)] if random.random() < 0.6 else [scalar()] * count
    for extent in reversed(type.shape):
        values = [f"[{', '.join(values[at : at + extent])}]" for at in range(0, len(values), extent)]
    shape = "".join(f"{extent}x" for extent in type.shape)
    return ir.Attribute.parse(f"dense<{values[0]}> : tensor<{shape}{type.element}>")


def identity(random: Random, element: ir.Type) -> ir.Attribute:
    """A random identity of a reduction or scan."""
    name = spell(element)
    if name in FLOATS:
        return ir.Attribute.parse(f"{_bits(random, name)} : {element}")
    if name == "i1":
        return ir.BoolAttr.get(random.random() < 0.5)
    return ir.IntegerAttr.get(element, integer(random, ELEMENT_BITS[name]))


def predicate(random: Random, type: ir.Type) -> ir.Attribute:
    """A random predicate of `assume` that is valid for a type."""
    divisor = 1 << random.randrange(63)
    if isinstance(type, TensorViewType) or isinstance(type, TileType) and isinstance(type.element, PointerType):
        return DivByAttr.get(divisor)
    kind = random.randrange(4)
    if kind == 0:
        return SameElementsAttr.get([random.randint(0, extent) for extent in type.shape])
    if kind == 1 and type.shape:
        along = random.randrange(type.rank)
        return DivByAttr.get(divisor, random.randint(0, type.shape[along]), along)
    if kind == 2:
        bounds = sorted(integer(random, ELEMENT_BITS[spell(type.element)]) for _ in range(2))
        return BoundedAttr.get(*(bound if random.random() < 0.7 else None for bound in bounds))
    return DivByAttr.get(divisor)


def hints(random: Random, *names: str) -> ir.Attribute:
    """Known and unknown hints; their integers have 32 bits, the only width that NVIDIA's text preserves."""
    values: list[ir.Attribute] = [
        ir.IntegerAttr.get(ir.IntegerType.get_signless(32), random.randint(1, 10)),
        ir.BoolAttr.get(True),
        ir.StringAttr.get("auto"),
    ]
    chosen = random.sample(("sm_90", "sm_100", "sm_120", "default"), random.randint(1, 3))
    return ir.DictAttr.get(
        {key: ir.DictAttr.get({name: random.choice(values) for name in names[: random.randrange(3)]}) for key in chosen}
    )


def of_field(random: Random, field: AttributeField) -> Any:
    """A value for the attribute of a field, as `build` accepts it; None omits the attribute."""
    if field.kind is AttributeKind.FLAG:
        return random.random() < 0.5
    if not field.required and random.random() < 0.5:
        return None
    if field.kind is AttributeKind.KEYWORD:
        return random.choice(field.keywords)
    if field.kind in (AttributeKind.INTEGER_32, AttributeKind.INTEGER_64):
        return random.choice((0, 1, 2, 4, 8, 16, 128))
    if field.kind in (AttributeKind.STRING, AttributeKind.SYMBOL):
        return text(random) or "name"
    if field.kind is AttributeKind.BOOLEAN:
        return random.random() < 0.5
    if field.kind is AttributeKind.DICTIONARY:
        return hints(random, "latency", "allow_tma")
    if field.kind is AttributeKind.ARRAY:
        return ir.ArrayAttr.get([ir.StringAttr.get(text(random)) for _ in range(random.randrange(3))])
    return None


def discardable(random: Random) -> ir.Attribute:
    """A builtin attribute of MLIR, which any operation may have as a discardable attribute."""
    return ir.Attribute.parse(
        random.choice(
            (
                "unit",
                "3 : i8",
                "-1 : i64",
                "true",
                "2.500000e+00 : f32",
                "0x7FC00001 : f32",
                '"te\\22xt"',
                "[1 : i32, [unit]]",
                "{a = 1 : i64, b}",
                "array<i32: 1, -2>",
                "dense<[1, 2]> : tensor<2xi32>",
                "f32",
                "@symbol",
            )
        )
    )
