"""Fuzz target: the reader of Tile IR bytecode; accepted modules must round trip; time and memory are limited."""

from __future__ import annotations

import random
import runpy
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

from tilec.dialect.bytecode.tags import is_bytecode
from tilec.dialect.bytecode.version import VERSIONS, Version
from tilec.dialect.mlir import context
from tilec.errors import InputError, TilecError
from tilec.text_input.module import Module

SAMPLES = Path(__file__).parents[1] / "dialect"
SMALLEST = runpy.run_path(str(SAMPLES.parent / "bytecode" / "operation_samples.py"))
GLOBALS = "global @table alignment = 8 <f32: [1.0, 2.0]> : tile<2xf32> "
_HEADER = 12
_LIMIT_S = 2.0
_LIMIT_BYTES = 256 << 20
# Special bytes: padding, the continuation bits of numbers, the largest numbers, the tags.
_BYTES = (0, 1, 2, 0x7F, 0x80, 0x81, 0xCB, 0xFE, 0xFF)


def seeds() -> Iterator[bytes]:
    """Every sample of the tests in each valid version; the smallest samples in the oldest and the newest version."""
    for path in sorted(SAMPLES.glob("*assembly/*.mlir")):
        yield from _files(Module.read(path))
    for body in [body for bodies in SMALLEST["SAMPLES"].values() for body in bodies] + SMALLEST["TYPES"]:
        files = list(_files(Module.parse(f"cuda_tile.module @kernels {{ {GLOBALS}{SMALLEST['kernel']('k', body)} }}")))
        yield from (files[0], files[-1])


def _files(module: Module) -> Iterator[bytes]:
    for version in VERSIONS:
        try:
            yield module.to_bytecode(str(version))
        except InputError:
            continue


def check(data: bytes) -> None:
    """Raises if the reader raises an error that is not a TilecError, or exceeds the limits of time or memory."""
    if not is_bytecode(data):
        # Text is tested by the target assembly.
        return
    # The first use creates the context of MLIR, which takes seconds independently of the input.
    context()
    tracemalloc.start()
    started = time.process_time()
    try:
        module = Module.parse(data, "fuzz.tileirbc")
    except TilecError as error:
        assert str(error)
        return
    finally:
        seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert seconds < _LIMIT_S + len(data) * 1e-4, f"{seconds:.1f} s for {len(data)} bytes"
        assert peak < _LIMIT_BYTES, f"{peak} bytes of memory for {len(data)} bytes"
    _check_round_trip(module, data)


def _check_round_trip(module: Module, data: bytes) -> None:
    printed = module.to_text()
    assert Module.parse(printed).to_text() == printed
    version = str(Version(*data[8:10]))
    assert Module.parse(module.to_bytecode(version)).to_text() == printed


def mutated(data: bytes, source: random.Random) -> bytes:
    """The file after several mutations: bytes changed, removed or repeated, or the end removed."""
    content = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 4))):
        if len(content) > _HEADER:
            _mutation(content, source)
    return bytes(content)


def _mutation(content: bytearray, source: random.Random) -> None:
    kind, at = source.randrange(8), source.randrange(len(content))
    if kind < 3:
        content[at] = source.randrange(256)
    elif kind < 5:
        content[at] = source.choice(_BYTES)
    elif kind == 5:
        content[at] = (content[at] + source.choice((-1, 1))) % 256
    elif kind == 6:
        end = at + source.randrange(1, 9)
        content[at:end] = content[at:end] * source.choice((0, 2))
    else:
        del content[at:]
