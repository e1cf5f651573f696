"""Fixtures that run kernels in the interpreter for comparison with numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tilec as ct
from tilec.errors import TilecError
from tilec.language.kernel import Kernel
from tilec.signature import parse


@pytest.fixture
def interpret() -> Callable[..., None]:
    """Runs a kernel on a grid and updates arrays in place; undefined behaviour is an error."""
    return lambda kernel, grid, *arguments: ct.launch(None, grid, kernel, arguments, backend="interpret", check=True)


@pytest.fixture
def tile_text() -> Callable[[Kernel, str], str]:
    """The Tile IR of a kernel for a signature."""
    return lambda kernel, signature: kernel.to_tile(parse(signature)).to_text()


@pytest.fixture
def error_message() -> Callable[[Any, str], str]:
    """The error message, with excerpt and notes, of compiling a function for a signature."""

    def compile(function: Any, signature: str) -> str:
        with pytest.raises(TilecError) as caught:
            ct.kernel(function).to_tile(parse(signature))
        return str(caught.value)

    return compile
