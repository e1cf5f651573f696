"""Parametrizes every test with an argument `vector` over all vectors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# The modules that the tests share are in this folder, and the generators of vectors in a folder of their own.
sys.path.insert(0, str(Path(__file__).parent / "generators"))
sys.path.insert(0, str(Path(__file__).parent))

from vector_files import named_vectors


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "vector" in metafunc.fixturenames:
        names, found = zip(*named_vectors(), strict=True)
        metafunc.parametrize("vector", found, ids=names)
