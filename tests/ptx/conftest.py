"""A kernel to write instructions into, and what the emitter makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tilec.dialect.mlir import context, ir
from tilec.dialect.ptx.builder import PtxBuilder, entry
from tilec.lowering.ptx.emit import emit


@pytest.fixture
def b() -> Iterator[PtxBuilder]:
    """A builder that stands in the empty first block of a kernel."""
    with context(), ir.Location.unknown():
        module = ir.Module.create()
        yield PtxBuilder(entry(module, "kernel", target="sm_90a", threads=[128]))


@pytest.fixture
def text(b: PtxBuilder) -> Callable[[], str]:
    """The PTX of the kernel, after the module is verified."""

    def emitted() -> str:
        module = b.entry.parent
        assert module.verify()
        return emit(ir.Module.parse(module.get_asm(enable_debug_info=True)))

    return emitted


@pytest.fixture
def lines(text: Callable[[], str]) -> Callable[[], list[str]]:
    """The instructions and labels of the kernel, without declarations, comments and indentation."""

    def body() -> list[str]:
        inside = text().partition("\n{\n")[2].rpartition("}")[0]
        stripped = [line.partition("//")[0].strip() for line in inside.splitlines()]
        return [line for line in stripped if line and not line.startswith(".")]

    return body
