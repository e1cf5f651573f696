"""Fuzz target: the reader of Tile IR assembly and generic form; every accepted module must round trip."""

from __future__ import annotations

import random
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

from tilec.errors import TilecError
from tilec.text_input.module import Module

SAMPLES = Path(__file__).parents[1] / "dialect"
_PIECE = re.compile(r"\s+|[A-Za-z0-9_.$]+|.", re.DOTALL)
# Tokens that change one construct into another more often than random characters.
_TOKENS = [
    *("%0", "@k", "token", "?", "-1", "0x7FC00000", "9223372036854775808", "loc(", "#a", "!t", "^bb0:", "1e400", '"'),
    *("tile<4xf32>", "ptr<i8>", "i4", "f4E2M1FN", "optimization_hints = <", "{", "}", "(", ")", "[", "<", ">", ":"),
]


def seeds() -> Iterator[bytes]:
    """Every sample of the tests in both forms, and every invalid module of the tests."""
    for path in sorted(SAMPLES.glob("*assembly/*.mlir")):
        text = path.read_text()
        yield text.encode()
        yield Module.parse(text).to_text(generic=True, locations=True).encode()
    template = runpy.run_path(str(SAMPLES / "test_refusals.py"))
    for path in sorted(SAMPLES.glob("refusals/*.mlir")):
        for body in path.read_text().split("// -----\n"):
            yield (template["HEADER"] + body + template["FOOTER"]).encode()


def check(data: bytes) -> None:
    """Raises if the reader raises an error that is not a TilecError, or if the module does not round trip."""
    try:
        module = Module.parse(data)
    except TilecError as error:
        assert str(error)
        return
    generic = module.to_text(generic=True)
    assert Module.parse(generic).to_text(generic=True) == generic
    try:
        printed = module.to_text()
    except TilecError as error:
        # Operations of upstream MLIR have only the generic form.
        assert "has no form in Tile IR assembly" in str(error)
        return
    again = Module.parse(printed)
    assert again.to_text() == printed
    # The printer names a module that has no name.
    assert again.to_text(generic=True).splitlines()[1:] == generic.splitlines()[1:]


def mutated(data: bytes, source: random.Random) -> bytes:
    """The text after several mutations of its lines or tokens."""
    text = data.decode(errors="replace")
    if source.randrange(3) == 0:
        return _mutation(text.splitlines(keepends=True), source, []).encode()
    for _ in range(source.choice((1, 1, 2, 4))):
        text = _mutation(_PIECE.findall(text), source, _TOKENS)
    return text.encode()


def _mutation(pieces: list[str], source: random.Random, tokens: list[str]) -> str:
    positions = [at for at, piece in enumerate(pieces) if not piece.isspace()]
    if not positions:
        return ""
    at, other = source.choice(positions), source.choice(positions)
    match source.randrange(5 if tokens else 4):
        case 0:
            del pieces[at : at + source.choice((1, 2, 8))]
        case 1:
            pieces.insert(at, pieces[other])
        case 2:
            pieces[at] = pieces[other]
        case 3:
            pieces[at], pieces[other] = pieces[other], pieces[at]
        case _:
            pieces[at] = source.choice(tokens)
    return "".join(pieces)
