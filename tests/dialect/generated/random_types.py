"""Random valid types of Tile IR."""

from __future__ import annotations

from random import Random

from tilec.dialect.assembly.types import element_type
from tilec.dialect.cuda_tile.element import ELEMENT_BITS, EXTENSION_FLOATS, FLOATS, INTEGERS, NUMBERS
from tilec.dialect.cuda_tile.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
)
from tilec.dialect.fields import TypeSet
from tilec.dialect.mlir import ir

SHAPES = ((), (1,), (2,), (8,), (2, 4), (4, 1), (1, 2, 4), (2, 2, 2, 2))
PADDINGS = (None, "zero", "neg_zero", "nan", "pos_inf", "neg_inf")
POINTER_ATTRIBUTES = (None, None, None, "none", "unicast", "multicast")


def shape(random: Random) -> tuple[int, ...]:
    return random.choice(SHAPES)


def pointer(random: Random, element: str | None = None, attribute: str | None = None) -> ir.Type:
    """A pointer type that may be a tile element; by default not to f4E2M1FN, which has no tiles of pointers."""
    pointee = element or random.choice([name for name in NUMBERS if name != "f4E2M1FN"])
    return PointerType.get(element_type(pointee), attribute)


def tile(extents: tuple[int, ...], element: str | ir.Type) -> ir.Type:
    return TileType.get(extents, element_type(element) if isinstance(element, str) else element)


def any_tile(random: Random, extents: tuple[int, ...]) -> ir.Type:
    """A tile type of this shape: of numbers, i4 or pointers."""
    kind = random.randrange(8)
    if kind == 0:
        return tile(extents, pointer(random, attribute=random.choice(POINTER_ATTRIBUTES)))
    name = "i4" if kind == 1 else random.choice(NUMBERS)
    return tile(extents if name != "f4E2M1FN" or extents and max(extents) > 1 else (2,), name)


def tensor_view(
    random: Random,
    rank: int | None = None,
    element: str | None = None,
    attribute: str | None = None,
    unit_strides: int | None = None,
) -> ir.Type:
    """A tensor view type; `unit_strides` is the number of its strides that are 1, by default a random number."""
    rank = random.randrange(4) if rank is None else rank
    extents = [random.choice((None, 1, 3, 64, 1 << 40)) for _ in range(rank)]
    strides = [random.choice((None, 1, 5, 1 << 33)) for _ in range(rank)]
    if unit_strides is not None:
        strides = [1] * unit_strides + [random.choice((None, 5, 1 << 33)) for _ in range(rank - unit_strides)]
        random.shuffle(strides)
    return TensorViewType.get(extents, element_type(element or random.choice(NUMBERS)), strides, attribute)


def tile_view(random: Random, kind: str | None = None, element: str | None = None) -> ir.Type:
    """A tile view type of one of the three kinds, over a tensor that is not multicast."""
    kind = kind or random.choice(("partition_view", "strided_view", "gather_scatter_view"))
    rank = random.randint(1, 3)
    element = element or random.choice([name for name in NUMBERS if name != "f4E2M1FN"])
    view = tensor_view(random, rank, element, random.choice((None, None, "none", "unicast")))
    # Tiles have an even number of 4-bit floats.
    extents = [random.choice((2, 4) if element == "f4E2M1FN" else (1, 2, 4)) for _ in range(rank)]
    paddings = PADDINGS if element in FLOATS else PADDINGS[:2]
    padding = random.choice(paddings)
    mapping = random.sample(range(rank), rank)
    if kind == "partition_view":
        return PartitionViewType.get(extents, view, mapping, padding)
    if kind == "strided_view":
        return StridedViewType.get(extents, [random.randint(1, 5) for _ in range(rank)], view, mapping, padding)
    return GatherScatterViewType.get(extents, view, random.randrange(rank), padding)


def carried(random: Random) -> ir.Type:
    """A type of values that loops and branches may carry."""
    return TokenType.get() if random.randrange(5) == 0 else any_tile(random, shape(random))


def of_set(random: Random, chosen: TypeSet, extents: tuple[int, ...]) -> ir.Type:
    """A type of a set, with this shape if the set has types of this shape."""
    names = [name for name in ELEMENT_BITS if name not in EXTENSION_FLOATS]
    candidates = [tile(extents, name) for name in names if name != "f4E2M1FN" or extents and max(extents) > 1]
    candidates += [tile((), name) for name in INTEGERS]
    for attribute in POINTER_ATTRIBUTES:
        candidates.append(tile(extents, pointer(random, attribute=attribute)))
        candidates.append(tile((), pointer(random, attribute=attribute)))
    candidates += [TokenType.get(), tensor_view(random), tile_view(random)]
    fitting = [each for each in candidates if chosen.contains(each)]
    shaped = [each for each in fitting if isinstance(each, TileType) and tuple(each.shape) == extents]
    return random.choice(shaped or fitting)
