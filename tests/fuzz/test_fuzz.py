"""A short slice of what fuzz.py does at length: the same targets and mutations, with a fixed seed and no guidance."""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
INPUTS = 1_000


@pytest.mark.parametrize("target", ["assembly", "bytecode"])
def test_nothing_escapes(target: str) -> None:
    module = importlib.import_module(target)
    source = random.Random(target)
    seeds = list(module.seeds())
    for _ in range(INPUTS):
        module.check(module.mutated(source.choice(seeds), source))
