"""Reads Tile IR assembly into a module; errors are InputErrors with line and column."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tilec.dialect.assembly.attributes.attributes import check_end, read_attribute, read_keyed_dictionary
from tilec.dialect.assembly.attributes.locations import LocationReader
from tilec.dialect.assembly.operation_reader import OperationReader
from tilec.dialect.assembly.operation_suggestions import unknown_operation
from tilec.dialect.assembly.scope import Scope
from tilec.dialect.assembly.tokens.lexer import END
from tilec.dialect.assembly.tokens.source import Source
from tilec.dialect.assembly.tokens.tokens import Tokens, shown
from tilec.dialect.mlir import context, ir
from tilec.dialect.operation import SPELLED

# A module or a kernel, an operation at the start of a line, or items without a module.
_TILE_MODULE = re.compile(
    r"^[^/\n\"]*\bcuda_tile\.(module|entry)\b|^\s*(%[^\n\"=]*=\s*)?cuda_tile\.\w|\"cuda_tile\.module\"\s*\("
    r"|^\s*(entry|global)\s[^\n\"]*@",
    re.MULTILINE,
)
_ITEMS = ("cuda_tile.entry", "cuda_tile.global")
# The name of a module without one in the text, as in NVIDIA's disassembler.
_UNNAMED = "kernels"


def is_tile_assembly(text: str) -> bool:
    """Whether a text is Tile IR assembly rather than MLIR's generic form."""
    return _TILE_MODULE.search(text) is not None


def read_module(text: str, file: str = "<string>") -> ir.Module:
    """Reads a module, without verifying it; raises InputError."""
    with context():
        return Reader(Source(text, file)).module()


class Reader:
    """The state of reading a text: tokens, names and the insertion point."""

    def __init__(
        self, source: Source, tokens: type[Tokens] = Tokens, operations: type[OperationReader] = OperationReader
    ) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.scope = Scope(self.tokens)
        self.locations = LocationReader(self.tokens)
        self.operations = operations(self)

    def module(self) -> ir.Module:
        while self.tokens.peek()[:1] in ("#", "!"):
            self._alias()
        closing = self._wrapper()
        found = self._tile_module()
        if self.tokens.peek().strip('"') == "cuda_tile.module":
            self.tokens.fail("expected one cuda_tile.module, but a second one follows")
        for token in closing:
            self.tokens.expect(token)
        if ":" in closing:
            self.tokens.type()
        self.locations.skip()
        while self.tokens.peek()[:1] in ("#", "!"):
            self._alias()
        check_end(self.tokens)
        self.locations.resolve()
        return found

    def _wrapper(self) -> tuple[str, ...]:
        """Skips the start of an enclosing `builtin.module` and returns the tokens that end it."""
        tokens = self.tokens
        if tokens.take('"builtin.module"'):
            tokens.skip_balanced("(", ")")
            if tokens.peek() == "<":
                tokens.skip_balanced("<", ">")
            tokens.expect("(")
            tokens.expect("{")
            return ("}", ")", ":")
        if not (tokens.take("module") or tokens.take("builtin.module")):
            return ()
        if tokens.peek()[:1] == "@":
            tokens.next()
        read_keyed_dictionary(tokens)
        tokens.expect("{")
        return ("}",)

    def _alias(self) -> None:
        name = self.tokens.next()
        self.tokens.expect("=")
        if name[0] == "!":
            self.tokens.aliases[name] = self.tokens.type()
        else:
            self.tokens.aliases[name] = (
                self.locations.scoped_or_attribute() if self.locations.starts() else read_attribute(self.tokens)
            )

    def _tile_module(self) -> ir.Module:
        tokens = self.tokens
        if tokens.peek() == '"cuda_tile.module"':
            return self.operations.generic.module()
        if self.full_name(tokens.peek()) in _ITEMS:
            return self._bare_items()
        if tokens.peek() != "cuda_tile.module":
            tokens.fail(f"expected 'cuda_tile.module', but got '{tokens.peek()}'")
        location = self.source.location(tokens.offset())
        tokens.next()
        name = tokens.symbol()
        module = ir.Module.create(loc=location)
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        for key, value in read_keyed_dictionary(tokens).items():
            module.operation.attributes["cuda_tile.producer" if key == "producer" else key] = value
        tokens.expect("{")
        self.items(ir.InsertionPoint(module.body))
        tokens.expect("}")
        self.locations.suffix(module.operation)
        return module

    def _bare_items(self) -> ir.Module:
        """Reads kernels and globals without a module, as NVIDIA's disassembler prints them."""
        module = ir.Module.create(loc=self.source.location(self.tokens.offset()))
        module.operation.attributes["sym_name"] = ir.StringAttr.get(_UNNAMED)
        point = ir.InsertionPoint(module.body)
        while self.full_name(self.tokens.peek()) in _ITEMS:
            self.operations.read(point)
        return module

    def items(self, point: ir.InsertionPoint) -> None:
        """Reads kernels and globals up to the closing bracket."""
        while self.tokens.peek() not in ("}", END):
            self._item(point)

    def _item(self, point: ir.InsertionPoint) -> None:
        start, name = self.tokens.offset(), self.full_name(self.tokens.peek().strip('"'))
        if name not in _ITEMS:
            word = self.tokens.peek()
            reason = f"; {unknown_operation(word)}" if "$" in word else ""
            self.source.fail(start, f"expected entry or global, but got {shown(word)}{reason}")
        self.operations.read(point)

    def full_name(self, word: str) -> str:
        """Reads the name of an operation with its dialect."""
        return SPELLED.get(f"cuda_tile.{word}") or SPELLED.get(word, word)

    def block(
        self,
        region: ir.Region,
        types: Sequence[ir.Type],
        names: Sequence[tuple[str, int]],
        terminator: str,
        locations: Sequence[ir.Location] | None = None,
    ) -> ir.Block:
        """Reads `{ .. }` as the only block of a region; a missing terminator is added."""
        location = region.owner.location
        block = region.blocks.append(*types, arg_locs=list(locations) if locations else [location] * len(types))
        self.tokens.expect("{")
        self.scope.open()
        for (name, offset), argument in zip(names, block.arguments, strict=True):
            self.scope.define(name, [argument], offset)
        self.operations.read_all(ir.InsertionPoint(block), terminator)
        self.tokens.expect("}")
        self.scope.close()
        return block

    def types(self) -> list[ir.Type]:
        """`(type, ..)`."""
        return self.tokens.comma_list("(", ")", self.tokens.type)

    def bare_types(self) -> list[ir.Type]:
        """`type, ..` without brackets, at least one."""
        return self.tokens.separated(self.tokens.type)
