"""Damaged files give a module or an error that says where, never anything else, and soon."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

from tilec.errors import TilecError
from tilec.text_input.module import Module

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "fuzz"))
fuzz = importlib.import_module("bytecode")
SEEDS = list(fuzz.seeds())
MUTATIONS = 2_000


def test_a_file_that_ends_early_is_refused_at_every_byte() -> None:
    for data in SEEDS[:: len(SEEDS) // 4]:
        for end in range(1, len(data)):
            with pytest.raises(TilecError, match=r"^cut.tileirbc"):
                Module.parse(data[:end], "cut.tileirbc")


def test_a_byte_more_at_the_end_is_refused() -> None:
    for data in SEEDS:
        with pytest.raises(TilecError, match="expected the end to be the last byte, but 1 bytes follow"):
            Module.parse(data + b"\0")


def test_every_byte_changed_to_every_neighbour() -> None:
    data = min(SEEDS, key=len)
    for at in range(len(data)):
        for value in (0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1, data[at] ^ 0x80):
            fuzz.check(data[:at] + bytes([value]) + data[at + 1 :])


def test_random_damage() -> None:
    source = random.Random(13)
    for _ in range(MUTATIONS):
        fuzz.check(fuzz.mutated(source.choice(SEEDS), source))


@pytest.mark.parametrize("size", [1, 7, 12, 13, 64, 1000])
def test_noise_after_the_header(size: int) -> None:
    source = random.Random(size)
    for _ in range(100):
        fuzz.check(SEEDS[0][:12] + source.randbytes(size))
