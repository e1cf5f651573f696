"""Aliases for the locations and debug info of a text, and their definitions at its end.

Aliases are numbered as by MLIR's printer, so that text of NVIDIA's disassembler keeps its names: an attribute follows
those that it refers to, otherwise the order is that of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilec.dialect.assembly.attributes.debug_info_printer import spell_debug_info
from tilec.dialect.cuda_tile.debug_info import (
    NODES,
    DICompileUnitAttr,
    DILexicalBlockAttr,
    DISubprogramAttr,
    scope_and_location,
)
from tilec.dialect.location import KERNELS, parts
from tilec.dialect.mlir import ir

_NODES = tuple(NODES.values())


class LocationNames:
    """The aliases of all locations in a text."""

    def __init__(self, locations: Iterable[ir.Location]) -> None:
        # The height of each aliased attribute above the leaves, in text order.
        self._depths: dict[ir.Attribute, int] = {}
        self._named: list[ir.Location | ir.Attribute] = []
        self._names: dict[ir.Attribute, str] = {}
        for location in locations:
            self._visit(location)
        self._number()

    def suffix(self, location: ir.Location) -> str:
        """` loc(#loc5)`."""
        return f" loc({self.of(location)})"

    def of(self, node: ir.Location | ir.Attribute) -> str:
        return self._names[_key(node)]

    def lines(self) -> list[str]:
        """The definitions of the aliases, each after those it uses."""
        return [f"{self.of(node)} = {self._spelled(node)}" for node in self._named]

    def _visit(self, node: ir.Location | ir.Attribute) -> int:
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

    def _spelled(self, node: ir.Location | ir.Attribute) -> str:
        if not isinstance(node, ir.Location):
            return spell_debug_info(node, self.of)
        found = scope_and_location(node)
        if found is not None:
            return f"#cuda_tile.di_loc<{self.of(found[1])} in {self.of(found[0])}>"
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


def _key(node: ir.Location | ir.Attribute) -> ir.Attribute:
    return node.attr if isinstance(node, ir.Location) else node


def _word(node: ir.Location | ir.Attribute) -> str:
    return "loc" if isinstance(node, ir.Location) else node.attr_name.removeprefix("cuda_tile.")


def _children(node: ir.Location | ir.Attribute) -> list[ir.Location | ir.Attribute]:
    """The components of a location or an attribute of debug info, in text order."""
    if isinstance(node, DILexicalBlockAttr):
        return [node.scope, node.file]
    if isinstance(node, DISubprogramAttr):
        return [node.file, node.compile_unit]
    if isinstance(node, DICompileUnitAttr):
        return [node.file]
    if not isinstance(node, ir.Location):
        return []
    found = scope_and_location(node)
    if found is not None:
        return [found[1], found[0]]
    inner = parts(node)
    if isinstance(node, ir.NameLoc):
        return [] if isinstance(inner[0], ir.UnknownLoc) else inner
    metadata = node.metadata if isinstance(node, ir.FusedLoc) else None
    metadata = None if metadata is None else metadata.maybe_downcast()
    return [metadata, *inner] if isinstance(metadata, _NODES) else inner


def written_out(location: ir.Location) -> bool:
    """Whether a location is short enough to be printed inline if used once."""
    return isinstance(location, ir.FileLineColLoc | ir.UnknownLoc)


def shown_locations(module: ir.Module) -> Iterator[ir.Location]:
    """The locations that a module's text shows by alias, in text order; the module's own comes last."""
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
