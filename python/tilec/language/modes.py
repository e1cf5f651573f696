"""Enumerations for padding, rounding and the order of memory accesses."""

from __future__ import annotations

from enum import Enum


class PaddingMode(Enum):
    """The value that a load returns for elements outside the array.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.load(x, 0, 4, padding_mode=ct.PaddingMode.NEG_INF))
        >>> ct.launch(None, 1, example, (np.ones(3, np.float32),), backend="interpret")
        [1.000000, 1.000000, 1.000000, -inf]
    """

    UNDETERMINED = "undetermined"
    ZERO = "zero"
    NEG_ZERO = "neg_zero"
    NAN = "nan"
    POS_INF = "pos_inf"
    NEG_INF = "neg_inf"


class RoundingMode(Enum):
    """The rounding of a floating-point result; FULL and APPROX select the accurate and the fast implementation.

    Example:
        >>> @ct.kernel
        ... def example(): print(f"{ct.truediv(ct.ones(2, ct.float32), 3, rounding_mode=ct.RoundingMode.RP):.10f}")
        >>> ct.launch(None, 1, example, (), backend="interpret")
        [0.3333333433, 0.3333333433]
    """

    RN = "nearest_even"
    RZ = "zero"
    RM = "negative_inf"
    RP = "positive_inf"
    RA = "nearest_away"
    FULL = "full"
    APPROX = "approx"
    RZI = "nearest_int_to_zero"


class MemoryOrder(Enum):
    """The order of a memory access relative to accesses of other blocks; WEAK accesses are not ordered.

    Example:
        >>> @ct.kernel
        ... def example(x): print(ct.atomic_add(x, 0, 5, memory_order=ct.MemoryOrder.RELAXED))
        >>> ct.launch(None, 1, example, (np.ones(1, np.int32),), backend="interpret")
        1
    """

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class MemoryScope(Enum):
    """The scope of a memory order: the threads of the block, of the cluster, of the GPU, or of the whole system.

    Accesses to arrays take all but CLUSTER, which is in the enumeration for programs that name it.

    Example:
        >>> @ct.kernel
        ... def example(x):
        ...     print(ct.load(x, 0, (), memory_order=ct.MemoryOrder.ACQUIRE, memory_scope=ct.MemoryScope.SYS))
        >>> ct.launch(None, 1, example, (np.ones(1, np.int32),), backend="interpret")
        1
    """

    NONE = "none"
    BLOCK = "tl_blk"
    CLUSTER = "cluster"
    DEVICE = "device"
    SYS = "sys"
