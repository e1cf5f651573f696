"""A module made ready to run: operations as steps with numbered values, types and attributes as plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilec.errors import Note, SourceLocation
from tilec.runtime.interpret.element import TileElement
from tilec.runtime.interpret.registry import Meaning


@dataclass(frozen=True)
class TileType:
    """A tile's shape and element type."""

    shape: tuple[int, ...]
    element: TileElement


@dataclass(frozen=True)
class TensorViewType:
    """A strided tensor; None is an extent or stride that an operand gives."""

    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    element: TileElement


@dataclass(frozen=True)
class TileViewType:
    """Tiles of a tensor: along tile dim k, index i starts at i * steps[k] of tensor dim dim_map[k].

    A gather_scatter_view has steps of 1 (its dense indices count elements) and names its rows along `sparse_dim`.
    """

    tile: TileType
    steps: tuple[int, ...]
    dim_map: tuple[int, ...]
    padding: str | None
    sparse_dim: int | None = None


@dataclass(slots=True)
class Step:
    """One operation: what it does, which values it takes and gives.

    `operands` has one entry a field: a slot, None where absent, a tuple of slots for a group. `types` are those of the
    present operands in order, `result_types` those of the results; None stands for a token.
    """

    name: str
    meaning: Meaning
    elementwise: bool
    operands: tuple[Any, ...]
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
    """A straight list of steps; `vectorisable` blocks of 0-D tiles may run on whole tiles at once."""

    arguments: tuple[int, ...]
    steps: list[Step] = field(default_factory=list)
    vectorisable: bool = False


@dataclass(frozen=True)
class Leave:
    """How a block ended: `kind` is yield, continue, break or return."""

    kind: str
    values: tuple[Any, ...] = ()
