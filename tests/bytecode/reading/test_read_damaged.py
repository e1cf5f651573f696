"""Reading a damaged file yields a module or an error with a location, without a crash and in bounded time."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS / "fuzz"))
fuzz = importlib.import_module("bytecode")
SEEDS = list(fuzz.seeds())
MUTATIONS = 2_000


def test_truncated_file_is_refused() -> None:
    for data in SEEDS[:: len(SEEDS) // 4]:
        for end in range(1, len(data)):
            with pytest.raises(TilecError, match=r"^cut.tileirbc"):
                Module.parse(data[:end], "cut.tileirbc")


def test_additional_byte_at_the_end_is_refused() -> None:
    for data in SEEDS:
        with pytest.raises(TilecError, match="expected the end to be the last byte, but 1 bytes follow"):
            Module.parse(data + b"\0")


def test_changes_of_every_byte() -> None:
    data = min(SEEDS, key=len)
    for at in range(len(data)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1, data[at] ^ 0x80):
            fuzz.check(data[:at] + bytes([value]) + data[at + 1 :])


def test_random_mutations() -> None:
    source = random.Random(13)
    for _ in range(MUTATIONS):
        fuzz.check(fuzz.mutated(source.choice(SEEDS), source))


@pytest.mark.parametrize("size", [1, 7, 12, 13, 64, 1000])
def test_random_bytes_after_the_header(size: int) -> None:
    source = random.Random(size)
    for _ in range(100):
        fuzz.check(SEEDS[0][:12] + source.randbytes(size))
