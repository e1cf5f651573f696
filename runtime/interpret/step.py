"""A module prepared for execution: steps with numbered values, types and attributes as plain Python objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilec.errors import Note, SourceLocation
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.registry import Meaning


@dataclass(frozen=True)
class TileType:
    """The shape and element type of a tile."""

    shape: tuple[int, ...]
    element: TileElement


@dataclass(frozen=True)
class TensorViewType:
    """A strided tensor; None is an extent or stride passed as an operand."""

    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    element: TileElement


@dataclass(frozen=True)
class TileViewType:
    """Tiles of a tensor: along tile dim k, index i starts at i * steps[k] of tensor dim dim_map[k].

    A gather_scatter_view has steps of 1 (its dense indices count elements) and indexes each row along `sparse_dim`.
    """

    tile: TileType
    steps: tuple[int, ...]
    dim_map: tuple[int, ...]
    padding: str | None
    sparse_dim: int | None = None


@dataclass(frozen=True)
class Im2colViewType:
    """A tensor of images as a matrix of output pixels by channels; one number per spatial dimension, outermost first.

    `by_row`: tiles run along the last spatial dimension and the images only, not across rows of an image.
    """

    tile: TileType
    window: tuple[int, ...]
    dilation: tuple[int, ...]
    stride: tuple[int, ...]
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    by_row: bool
    # The channels of a slice, if the channels are in slices.
    interleave: int | None = None


@dataclass(frozen=True)
class PackedViewType:
    """A tensor of bytes, whose rows hold packed elements of `bits` bits, as tiles of i8."""

    tile: TileType
    bits: int


# The slots of an operand field.
Slots = int | tuple[int, ...] | None


@dataclass(slots=True)
class Step:
    """One operation: its interpretation, operands, results and attributes.

    `operands` has one entry per field: a slot, None if absent, a tuple of slots for a variadic group; `types` has the
    same structure. A token has the type None.
    """

    name: str
    meaning: Meaning
    elementwise: bool
    operands: tuple[Slots, ...]
    results: tuple[int, ...]
    types: tuple[Any, ...]
    result_types: tuple[Any, ...]
    attributes: dict[str, Any]
    blocks: tuple[Block | None, ...]
    location: SourceLocation | None
    notes: list[Note]

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @property
    def body(self) -> Block:
        """The block of the first region."""
        assert self.blocks[0] is not None
        return self.blocks[0]

    @property
    def element(self) -> TileElement:
        """The element type of the first result."""
        return self.result_types[0].element


@dataclass(slots=True)
class Block:
    """A sequence of steps; a `vectorisable` block of 0-D tiles also runs on whole tiles."""

    arguments: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    vectorisable: bool = False


@dataclass(frozen=True)
class Leave:
    """The terminator of a block and its operands: `kind` is yield, continue, break or return."""

    kind: str
    values: tuple[Any, ...] = ()
