"""A text with pieces taken out, doubled or swapped is read or refused, and what is read prints and reads back."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
_PIECE = re.compile(r"\s+|[A-Za-z0-9_.$]+|.")
MUTANTS = 40


def mutated(pieces: list[str], random: random.Random) -> str:
    """The text after one small accident."""
    changed = list(pieces)
    at, other = random.randrange(len(changed)), random.randrange(len(changed))
    match random.randrange(4):
        case 0:
            del changed[at : at + random.choice((1, 2, 8))]
        case 1:
            changed.insert(at, changed[other])
        case 2:
            changed[at] = changed[other]
        case _:
            changed[at], changed[other] = changed[other], changed[at]
    return "".join(changed)


@pytest.mark.parametrize("generic", [False, True], ids=["assembly", "generic"])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_read_or_refused(path: Path, generic: bool) -> None:
    pieces = _PIECE.findall(Module.read(path).to_text(generic=generic))
    random_ = random.Random(f"{path.stem} {generic}")
    for _ in range(MUTANTS):
        text = mutated(pieces, random_)
        try:
            module = Module.parse(text)
        except TilecError as error:
            assert str(error)
            continue
        printed = module.to_text()
        assert Module.parse(printed).to_text() == printed
        assert Module.parse(module.to_text(generic=True)).to_text() == printed
