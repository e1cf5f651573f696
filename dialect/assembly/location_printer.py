"""Names for the locations and the debug info of a text, and the lines at its end that say what they are.

Numbers follow MLIR's printer, so that text of NVIDIA's disassembler comes back with the same names: what is made of
other named things comes after them, and among equals the order is that of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tilec.dialect.assembly.debug_info_printer import spell_debug_info
from tilec.dialect.cuda_tile.debug_info import (
    NODES,
    DICompileUnitAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    placed_scope,
)
from tilec.dialect.location import KERNELS, parts
from tilec.dialect.mlir import ir

_NODES = tuple(NODES.values())


class LocationNames:
    """The names of all locations that a text shows."""

    def __init__(self, locations: Iterable[ir.Location]) -> None:
        # What is named by its attribute, how far it is above what is made of nothing else, in the order of the text.
        self._depths: dict[ir.Attribute, int] = {}
        self._named: list[Any] = []
        self._names: dict[ir.Attribute, str] = {}
        for location in locations:
            self._visit(location)
        self._number()

    def suffix(self, location: ir.Location) -> str:
        """` loc(#loc5)`."""
        return f" loc({self.of(location)})"

    def of(self, node: Any) -> str:
        return self._names[_key(node)]

    def lines(self) -> list[str]:
        """What each name stands for, each after those it is made of."""
        return [f"{self.of(node)} = {self._spelled(node)}" for node in self._named]

    def _visit(self, node: Any) -> int:
        key = _key(node)
        if key in self._depths:
            return self._depths[key]
        self._depths[key] = 1
        self._named.append(node)
        depth = self._depths[key] = 1 + max(map(self._visit, _children(node)), default=0)
        return depth

    def _number(self) -> None:
        self._named.sort(key=lambda node: (self._depths[_key(node)], _word(node)))
        counts: dict[str, int] = {}
        for node in self._named:
            word = _word(node)
            number = counts[word] = counts.get(word, -1) + 1
            self._names[_key(node)] = f"#{word}{number or ''}"

    def _spelled(self, node: Any) -> str:
        if not isinstance(node, ir.Location):
            return spell_debug_info(node, self.of)
        placed = placed_scope(node)
        if placed is not None:
            return f"#cuda_tile.di_loc<{self.of(placed[1])} in {self.of(placed[0])}>"
        children = [self.of(child) for child in _children(node)]
        if isinstance(node, ir.CallSiteLoc):
            return f"loc(callsite({' at '.join(children)}))"
        if isinstance(node, ir.NameLoc):
            return f"loc({ir.StringAttr.get(node.name_str)}{f'({children[0]})' if children else ''})"
        if isinstance(node, ir.FusedLoc):
            metadata = "" if node.metadata is None else f"<{self._metadata(node)}>"
            return f"loc(fused{metadata}[{', '.join(self.of(part) for part in parts(node))}])"
        return str(node)

    def _metadata(self, fused: ir.FusedLoc) -> str:
        metadata = fused.metadata.maybe_downcast()
        return self.of(metadata) if isinstance(metadata, _NODES) else str(metadata)


def _key(node: Any) -> ir.Attribute:
    return node.attr if isinstance(node, ir.Location) else node


def _word(node: Any) -> str:
    return "loc" if isinstance(node, ir.Location) else node.attr_name.removeprefix("cuda_tile.")


def _children(node: Any) -> list[Any]:
    """What a location or an attribute of debug info is made of, in the order of the text."""
    if isinstance(node, DILexicalBlockAttr):
        return [node.scope, node.file]
    if isinstance(node, DISubprogramAttr):
        return [node.file, node.compile_unit]
    if isinstance(node, DICompileUnitAttr):
        return [node.file]
    if not isinstance(node, ir.Location):
        return []
    placed = placed_scope(node)
    if placed is not None:
        return [placed[1], placed[0]]
    inner = parts(node)
    if isinstance(node, ir.NameLoc):
        return [] if isinstance(inner[0], ir.UnknownLoc) else inner
    metadata = node.metadata if isinstance(node, ir.FusedLoc) else None
    metadata = None if metadata is None else metadata.maybe_downcast()
    return [metadata, *inner] if isinstance(metadata, _NODES) else inner


def written_out(location: ir.Location) -> bool:
    """Whether a location is short enough to stand where it is used once."""
    return isinstance(location, ir.FileLineColLoc | ir.UnknownLoc)


def shown_locations(module: ir.Module) -> Iterator[ir.Location]:
    """The locations that the text of a module shows by name, in its order; that of the module stands at its end."""
    for op in module.body.operations:
        yield from _shown(op.operation)
    if not written_out(module.operation.location):
        yield module.operation.location


def _shown(operation: ir.Operation) -> Iterator[ir.Location]:
    yield operation.location
    entry = operation.name in KERNELS
    for region in operation.regions:
        for block in region.blocks:
            arguments = block.arguments if entry else ()
            yield from (argument.location for argument in arguments if argument.location != operation.location)
            for inner in block.operations:
                yield from _shown(inner.operation)
