"""Reads the blocks of a kernel in dominance order, independent of their order in the text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilec.dialect.assembly.attributes.argument_locations import ArgumentLocations
from tilec.dialect.assembly.tokens.lexer import END
from tilec.dialect.assembly.value_lists import read_arguments
from tilec.dialect.mlir import ir

if TYPE_CHECKING:
    from tilec.dialect.stage_assembly.reader import StageReader

# The tokens that precede a `^bb1` used as a branch target rather than a block label.
_BEFORE_TARGET = ("cf.br", ",")
_FIRST = "^bb0"


@dataclass(frozen=True)
class _Range:
    """The tokens of a block after its label, and the names of its successors."""

    name: str
    start: int
    end: int
    targets: tuple[str, ...]


def read_blocks(reader: StageReader, region: ir.Region) -> None:
    """Reads `{ .. ^bb1(%a: i32): .. }` into a region; a value may be used above its definition in the text."""
    tokens = reader.tokens
    tokens.expect("{")
    ranges = _ranges(reader)
    location = region.owner.location
    outer, reader.blocks = reader.blocks, {}
    reader.scope.open()
    starts = {}
    for each in ranges:
        tokens.at = each.start
        locations = ArgumentLocations()
        names, types = read_arguments(reader, locations) if each.name != _FIRST and tokens.peek() == "(" else ([], [])
        if each.name != _FIRST or tokens.peek() == ":":
            tokens.expect(":")
        if each.name in reader.blocks:
            tokens.fail_at(tokens.offsets[each.start - 1], f"redefinition of block '{each.name}'")
        block = region.blocks.append(*types, arg_locs=[location] * len(types))
        locations.assign(list(block.arguments))
        reader.locations.follow(locations.others)
        reader.blocks[each.name], starts[each.name] = block, tokens.at
        for (name, offset), value in zip(names, block.arguments, strict=True):
            reader.scope.define(name, [value], offset)
    for each in _dominators_first(ranges):
        tokens.at = starts[each.name]
        reader.operations.read_all(ir.InsertionPoint(reader.blocks[each.name]))
    tokens.at = ranges[-1].end
    tokens.expect("}")
    reader.scope.close()
    reader.blocks = outer


def _ranges(reader: StageReader) -> list[_Range]:
    """The blocks in text order; the first one may have no label."""
    tokens, at, depth = reader.tokens.tokens, reader.tokens.at, 0
    name, start, targets = _FIRST, at, list[str]()
    found = []
    while depth or tokens[at] != "}":
        token = tokens[at]
        if token == END:
            reader.tokens.fail("expected '}', but got the end of the text")
        depth += (token == "{") - (token == "}")
        if token[:1] == "^" and tokens[at - 1] in _BEFORE_TARGET:
            targets.append(token)
        elif token[:1] == "^":
            if at > start or name != _FIRST:
                found.append(_Range(name, start, at, tuple(targets)))
            name, start, targets = token, at + 1, []
        at += 1
    return [*found, _Range(name, start, at, tuple(targets))]


def _dominators_first(ranges: list[_Range]) -> list[_Range]:
    """Reverse postorder from the first block, then unreachable blocks."""
    by_name = {each.name: each for each in ranges}
    order: list[str] = []
    seen = {ranges[0].name}
    stack = [(ranges[0].name, iter(ranges[0].targets))]
    while stack:
        name, targets = stack[-1]
        target = next((each for each in targets if each not in seen and each in by_name), None)
        if target is None:
            order.append(name)
            stack.pop()
        else:
            seen.add(target)
            stack.append((target, iter(by_name[target].targets)))
    return [by_name[name] for name in [*reversed(order), *(each.name for each in ranges if each.name not in seen)]]
