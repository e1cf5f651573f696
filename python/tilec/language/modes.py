"""The keywords of operations: how to pad, how to round, how memory accesses are ordered."""

from __future__ import annotations

from enum import Enum


class PaddingMode(Enum):
    """What a load gives for elements outside the array."""

    UNDETERMINED = "undetermined"
    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


class RoundingMode(Enum):
    """How a floating-point result is rounded; FULL and APPROX choose between the precise and the fast function."""

    RN = "nearest_even"
    RZ = "zero"
    RM = "negative_inf"
    RP = "positive_inf"
    RA = "nearest_away"
    FULL = "full"
    APPROX = "approx"
    RZI = "nearest_int_to_zero"


class MemoryOrder(Enum):
    """How a memory access is ordered against those of other blocks; WEAK orders nothing."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemoryScope(Enum):
    """Among whom an order holds: the block, the GPU, the whole system."""

    NONE = "none"
    BLOCK = "tl_blk"
    DEVICE = "device"
    SYS = "sys"
