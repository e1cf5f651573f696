"""The locations of a block's arguments, known before or after the block is created."""

from __future__ import annotations

from collections.abc import Callable

from tilec.dialect.mlir import ir


class ArgumentLocations:
    """The locations of a block's arguments, known before or after the block is created."""

    def __init__(self) -> None:
        self._known: dict[int, ir.Location] = {}
        self._arguments: list[ir.Value] = []

    def setter(self, index: int) -> Callable[[ir.Location], None]:
        def set_location(location: ir.Location) -> None:
            self._known[index] = location
            self.assign(self._arguments)

        return set_location

    def assign(self, arguments: list[ir.Value]) -> None:
        self._arguments = arguments
        for index, location in self._known.items() if arguments else ():
            arguments[index].set_location(location)

    def others(self, location: ir.Location) -> None:
        """Assigns a location to arguments without one."""
        for index, argument in enumerate(self._arguments):
            if index not in self._known:
                argument.set_location(location)
