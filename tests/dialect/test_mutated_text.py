"""Text with random edits is read or refused without a crash; what is read round trips."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module

FILES = sorted((Path(__file__).parent / "assembly").glob("*.mlir"))
_TOKEN = re.compile(r"\s+|[A-Za-z0-9_.$]+|.")
MUTATIONS = 40


def mutated(tokens: list[str], random: random.Random) -> str:
    """The text with one random token deleted, inserted, replaced or exchanged."""
    changed = list(tokens)
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
def test_mutated_text_is_read_or_refused(path: Path, generic: bool) -> None:
    tokens = _TOKEN.findall(Module.read(path).to_text(generic=generic))
    random_ = random.Random(f"{path.stem} {generic}")
    for _ in range(MUTATIONS):
        text = mutated(tokens, random_)
        try:
            module = Module.parse(text)
        except TilecError as error:
            assert str(error)
            continue
        printed = module.to_text()
        assert Module.parse(printed).to_text() == printed
        assert Module.parse(module.to_text(generic=True)).to_text() == printed
