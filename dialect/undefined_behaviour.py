"""The texts that report undefined behaviour of Tile IR: in the interpreter with values, in compiled checks without."""

from __future__ import annotations

STEP = "a for loop needs a positive step"
COUNTER = "the counter of this loop overflows"
DIVISION_BY_ZERO = "division by zero is undefined"


def quotient(element: str) -> str:
    """The least integer of a type is divided by -1."""
    return f"dividing the most negative {element} by -1 is undefined"


def shift_amount(element: str, bits: int) -> str:
    """A shift amount is the width of the type or more."""
    return f"shift amount of {element} must be below {bits}"


def overflow(signedness: str, element: str, promise: str, value: int | None = None) -> str:
    """A result does not fit its type, although `overflow` promises that it does."""
    result = "the result" if value is None else f"the result {value}"
    return f"{result} does not fit {signedness} {element}, which violates {promise}"


def assumption(predicate: str) -> str:
    """The predicate of an `assume` is false."""
    return f"the assumption {predicate} does not hold"


def conversion(signedness: str, element: str, value: object = "this float") -> str:
    """A float is NaN, or outside of the range of an integer type."""
    return f"converting {value} to {signedness} {element} is undefined"


def sub_tile(axis: int, count: int, size: int) -> str:
    """The index of `extract` or `insert` is not that of a sub-tile."""
    return f"dimension {axis} has {count} sub-tiles of {size}"


def view_operand(operand: str, count: int | None) -> str:
    """An operand of an access, such as "index 0", is outside of its range; None is a count known at run time only."""
    return f"{operand} of the view must be at least 0 and below {'the number of tiles' if count is None else count}"


def inbounds(axis: int, extent: int | None) -> str:
    """A tile exceeds the tensor, although `inbounds` promises that it does not."""
    bounds = "within bounds" if extent is None else f"within bounds of {extent} elements"
    return f"index {axis} is marked as {bounds}"


def element_index(axis: int, extent: int | None) -> str:
    """An index of a gather, a scatter or an atomic is outside of the array, although `check_bounds=False` promises."""
    limit = "the extent of the array" if extent is None else extent
    return f"index {axis} must be at least 0 and below {limit}, as check_bounds=False promises"


def extent(element: str, value: int | None = None) -> str:
    """An extent does not fit the type of the result."""
    return f"the extent{'' if value is None else f' {value}'} does not fit {element}"


def interleaved_extent(size: int) -> str:
    """The slices of an interleaved tensor have another size than the view."""
    return f"the innermost extent of an interleaved tensor must be {size}"


def packed_extent(dimension: int) -> str:
    """The last byte of a row is only in part inside of the tensor."""
    return f"the extent of dimension {dimension}, whose elements share bytes, must be even"


def sparse_metadata(legal: tuple[int, ...], found: tuple[int, int, int] | None = None) -> str:
    """A nibble of metadata names no two elements of a group in ascending order; `found` is (row, group, nibble)."""
    where = "a nibble" if found is None else f"nibble {found[1]} of row {found[0]} (its group along K)"
    got = "" if found is None else f", got {found[2]:#06b}"
    return f"{where} of the metadata must be one of {', '.join(f'{code:#06b}' for code in legal)}{got}"
