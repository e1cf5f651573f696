"""Tokens of a stage: types with aliases, attributes of upstream dialects, strings in several parts."""

from __future__ import annotations

import re
from typing import Any

from tilec.dialect.assembly.tokens.tokens import Tokens, unescape
from tilec.dialect.mlir import ir
from tilec.dialect.spelling import spell
from tilec.dialect.tile_gpu.types import BufferType, ChannelType, TensorMapType

_PREFIX = "!tile_gpu."
_ALIAS = re.compile(r"[#!][A-Za-z_]\w*(?![\w.])")
_BUFFER = re.compile(
    r"buffer\s*<\s*(?P<shape>(?:\d+\s*x\s*)*)(?P<element>[A-Za-z]\w*)\s*,\s*(?P<memory>\w+)\s*,\s*(?P<layout>[^<>\"]*)>"
)


class StageTokens(Tokens):
    """A cursor that reads types and attributes of tile_gpu and of MLIR."""

    def string(self) -> str:
        """Reads a string, which may consist of several adjacent literals."""
        found = unescape(self.next())
        while self.peek()[:1] == '"':
            found += unescape(self.next())
        return found

    def type(self) -> ir.Type:
        start, token = self.offset(), self.peek()
        if token == "(":
            return self._function_type()
        if token[:1] == "!" and token in self.aliases:
            self.at += 1
            return self.aliases[token]
        if not (token[:1].isalpha() or token[:1] == "!"):
            self.fail(f"expected a type, but got '{token}'")
        word = token.removeprefix(_PREFIX)
        if word == "tensor_map":
            self.at += 1
            return TensorMapType.get()
        if word == "channel":
            self.at += 1
            return self._channel()
        text = self._balanced()
        match = _BUFFER.fullmatch(text.removeprefix(_PREFIX)) if word == "buffer" else None
        if match is not None:
            return self._buffer(match, start)
        return self._parsed_by_mlir(ir.Type, text, start)

    def dialect_attribute(self) -> ir.Attribute:
        """`#arith.fastmath<fast>`, or the attribute of an alias."""
        start, token = self.offset(), self.peek()
        if token in self.aliases:
            self.at += 1
            return self.aliases[token]
        return self._parsed_by_mlir(ir.Attribute, self._balanced(), start)

    def _balanced(self) -> str:
        """The text of the next token and its angle brackets, with aliases expanded."""
        start = self.offset()
        self.at += 1
        if self.peek() == "<":
            self.skip_balanced("<", ">")
        text = self.text(start, self.offset_of_last_end())
        return _ALIAS.sub(self._meaning, text) if "#" in text or "!" in text else text

    def _meaning(self, match: re.Match[str]) -> str:
        found = self.aliases.get(match[0])
        return match[0] if found is None else str(found)

    def _parsed_by_mlir(self, kind: Any, text: str, start: int) -> Any:
        try:
            return kind.parse(text)
        except ir.MLIRError as error:
            self.fail_at(start, error.error_diagnostics[0].message)

    def _channel(self) -> ir.Type:
        self.expect("<")
        start = self.offset()
        buffers = self.comma_list("[", "]", self.type)
        self.expect(">")
        for buffer in buffers:
            if not isinstance(buffer, BufferType):
                self.fail_at(start, f"expected buffers in a channel, but got '{spell(buffer)}'")
        return ChannelType.get(buffers)

    def _buffer(self, match: re.Match[str], start: int) -> ir.Type:
        shape = [int(extent) for extent in re.findall(r"\d+", match["shape"])]
        element = self._parsed_by_mlir(ir.Type, match["element"], start)
        try:
            return BufferType.get(shape, element, match["memory"], " ".join(match["layout"].split()))
        except ValueError as error:
            self.fail_at(start, str(error))
