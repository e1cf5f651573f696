"""Random arguments of launches: arrays of every protocol, numbers, constants, tuples, dataclasses, lists of arrays, and
values that are refused.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Annotated, Any

import numpy as np
from launching import Capsule, Exchange, Interface, Property

import tilec as ct

Static = Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0,), static_stride_dims=(-1,))]


class Level(IntEnum):
    LOW = 1
    HIGH = 2**40


class Ratio(float, Enum):
    HALF = 0.5


class Count(int):
    """An int that is not an int of Python."""


@dataclass
class Pair:
    first: Any
    second: Any


@dataclass(frozen=True)
class Scaled:
    """A record with annotated fields, one of which is a record."""

    array: Static
    scale: ct.Constant[int]
    inner: Any = None


@dataclass
class Slotted:
    __slots__ = ("only",)
    only: Any


TYPES = ("<f4", "<f2", "|u1", "<i8", "|b1", ">f4", "<c8")
CONSTANTS = (0, 1, 1.0, True, False, -0.0, 0.0, float("nan"), None, "text", "other text", 2**40, ct.float16, np.float32)
STRUCTURED = (Level.LOW, Level.HIGH, Ratio.HALF, (1, (Level.LOW,)), Pair(1, Level.LOW), Pair(1, 2), Scaled(1, 2))
CONSTANTS = (*CONSTANTS, *STRUCTURED, Slotted(1.5), Count(7))
NUMBERS = (
    0,
    -1,
    7,
    2**31,
    -(2**31),
    2**63,
    True,
    0.5,
    1e300,
    float("inf"),
    np.float32(2.5),
    np.int8(-3),
    np.bool_(True),
    Level.LOW,
    Level.HIGH,
    Ratio.HALF,
    Count(7),
)
ODD_NUMBERS = (np.uint64(2**63), np.float64(0.1), np.float16(0.5), None, "text", object(), 1j, ct.int8)


class Broken:
    """An array whose protocol raises an exception."""

    @property
    def __cuda_array_interface__(self) -> Any:
        raise ValueError("broken")


class RandomArguments:
    """Draws arguments from a seed; few addresses, so that they return with other shapes and types."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def array(self) -> Any:
        draw = self.random
        rank = draw.choice((0, 1, 2, 2, 2, 3, 3, 5))
        extents = (1, 4, 16, 24, 64, 512) if draw.random() < 0.95 else (0, 1, 3, 8, 2**31 - 1, 2**31)
        shape = tuple(draw.choice(extents) for _ in range(rank))
        typestr = draw.choice(TYPES[:3]) if draw.random() < 0.9 else draw.choice(TYPES)
        address = 0x6000_0000_0000 + 0x1000 * draw.randrange(4) + draw.choice((0, 0, 0, 0, 16, 8, 2))
        kinds = (
            (Interface, Interface, Property, Capsule, Exchange)
            if typestr[0] != ">" and typestr[1] != "c"
            else (Interface,)
        )
        return draw.choice(kinds)(address, shape, typestr, self.strides(shape))

    def strides(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        draw = self.random
        if draw.random() < 0.5:
            return None
        if draw.random() < 0.1:
            return tuple(draw.choice((0, 1, 8, -1, 2**31, 24)) for _ in shape)
        padding = draw.choice((0, 1, 16))
        strides, step = [], 1
        for extent in reversed(shape):
            strides.append(step)
            step *= extent + padding
        return tuple(reversed(strides) if draw.random() < 0.8 else strides)

    def value(self) -> Any:
        draw, kind = self.random, self.random.random()
        if kind < 0.75:
            return self.array()
        if kind < 0.93:
            return draw.choice(NUMBERS)
        if kind < 0.96:
            return self.structure()
        return draw.choice((*ODD_NUMBERS, Broken()))

    def structure(self) -> Any:
        """A tuple, a record or a list, most of them of values that kernels take."""
        draw = self.random
        return draw.choice((self.tuple, self.record, self.record, self.list, self.list))()

    def tuple(self) -> Any:
        return tuple(self.value() for _ in range(self.random.randrange(3)))

    def record(self) -> Any:
        made = self.random.randrange(4)
        if made == 0:
            return Pair(self.value(), self.value())
        if made == 1:
            return Slotted(self.value())
        return Scaled(self.array(), self.random.randrange(3), self.value() if made == 2 else None)

    def list(self) -> Any:
        """Arrays of one type and rank, or any values."""
        draw = self.random
        if draw.random() < 0.1:
            return [self.value() for _ in range(draw.randrange(3))]
        first = draw.choice(((16, 64), (4, 24), (512,)))
        extents = (first, tuple(draw.choice((1, 8, 16, 24)) for _ in first))
        kinds, address = (Interface, Property, Capsule, Exchange), 0x6000_0000_0000
        return [
            draw.choice(kinds)(address + draw.choice((0, 0, 16, 4)), shape, "<f4", self.strides(shape))
            for shape in draw.choices(extents, k=1 + draw.randrange(3))
        ]

    def constant(self) -> Any:
        return self.random.choice(CONSTANTS)

    def grid(self) -> Any:
        choices = (1, 4, (2,), (4, 2), [4, 2, 2], (), 0, (4, 0), (70000, 70000), -1, (1, 2, 3, 4), True, "grid", 2**31)
        return self.random.choice(choices if self.random.random() < 0.2 else choices[:5])

    def stream(self) -> Any:
        class WithHandle:
            cuda_stream = 0x30

        class WithProtocol:
            def __cuda_stream__(self) -> tuple[int, int]:
                return 0, 0x40

        return self.random.choice(
            (0, 1, 0x20, None, WithHandle(), WithProtocol(), "stream" if self.random.random() < 0.1 else 0)
        )
