"""Assertions and printing."""

from __future__ import annotations

import numpy as np

from tilec.dialect.print_format import Directive, parse_format
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.element import TileElement
from tilec.runtime.interpret.numbers.integer import reading
from tilec.runtime.interpret.numbers.printf import formatted
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step, TileType

Tile = np.ndarray


@interprets("assert")
def _assert(op: Step, _machine: Machine, condition: Tile) -> tuple[()]:
    failed = np.argwhere(~condition)
    if len(failed):
        indices = ", ".join(str(index) for index in failed[:4].tolist())
        more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
        where = f" (at {indices}{more})" if condition.ndim else ""
        message = f": {op['message']}" if op["message"] else ""
        raise Fault(f"assertion failed{message}{where}")
    return ()


@interprets("print_tko")
def _print(op: Step, machine: Machine, args: tuple[Tile, ...], _token: None) -> tuple[None]:
    """Each directive formats every element of its tile, row by row in brackets."""
    rest = iter(zip(args, op.types[0], strict=True))
    try:
        parts = parse_format(op["str"])
    except ValueError as error:
        raise Fault(str(error)) from None
    printed = b"".join(part.encode() if isinstance(part, str) else _tile_text(part, *next(rest)) for part in parts)
    # Characters of %c are bytes, which may not be valid UTF-8; the simulator prints them alike.
    machine.write(printed.decode(errors="replace"))
    return (None,)


def _tile_text(directive: Directive, tile: Tile, kind: TileType) -> bytes:
    return _format(directive, _numbers(tile, kind.element, directive))


def _numbers(tile: Tile, element: TileElement, directive: Directive) -> Tile:
    if element.pointee is not None:
        return tile // np.uint64(element.target.steps_per_byte)
    if element.is_float:
        values = np.asarray(element.format.decode(tile))
        # A NaN has no sign: which one an operation returns differs between machines.
        return np.where(np.isnan(values), np.nan, values)
    if directive.is_signed and element.width > 1:
        return np.asarray(reading(tile, element, "signed"))
    if element.width in (1, 64):
        return np.asarray(reading(tile, element, "unsigned"))
    # C and NVIDIA's tools promote narrower integers to int with their sign: see
    # tests/semantics/generators/debug_vectors.py.
    return np.asarray(reading(tile, element, "signed")).astype(np.int64) & 0xFFFFFFFF


def _format(directive: Directive, values: Tile) -> bytes:
    if values.ndim:
        return b"[%s]" % b", ".join(_format(directive, row) for row in values)
    return formatted(directive, values.item())
