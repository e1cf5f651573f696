"""Fixtures: a builder in an empty kernel, and the PTX that the emitter prints for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tilec.dialect.mlir import context, ir
from tilec.dialect.ptx.builder import PtxBuilder, entry
from tilec.lowering.ptx.emit import emit


@pytest.fixture
def module() -> Iterator[ir.Module]:
    """An empty module, in an entered context."""
    with context(), ir.Location.unknown():
        yield ir.Module.create()


@pytest.fixture
def b(module: ir.Module) -> PtxBuilder:
    """A builder at the end of the empty entry block of a kernel."""
    return PtxBuilder(entry(module, "kernel", target="sm_90a", threads=[128]))


@pytest.fixture
def text(module: ir.Module) -> Callable[[], str]:
    """The PTX of the verified module; it is also checked that the printed and parsed module has the same PTX."""

    def emitted() -> str:
        assert module.operation.verify()
        found = emit(module)
        assert emit(ir.Module.parse(module.operation.get_asm(enable_debug_info=True))) == found
        return found

    return emitted


@pytest.fixture
def lines(text: Callable[[], str]) -> Callable[[], list[str]]:
    """The instructions and labels of the kernel, without declarations, comments and indentation."""

    def body() -> list[str]:
        inside = text().partition("\n{\n")[2].rpartition("}")[0]
        stripped = [line.partition("//")[0].strip() for line in inside.splitlines()]
        return [line for line in stripped if line and not line.startswith(".")]

    return body
