"""Assertions and printing."""

from __future__ import annotations

import re

import numpy as np

from tilec.runtime.interpret.element import TileElement
from tilec.runtime.interpret.fault import Fault
from tilec.runtime.interpret.integer import reading
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.printf import printed
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray

_DIRECTIVE = re.compile(r"%[^diuoxXeEfFgGaAcsSpn%]*[diuoxXeEfFgGaAcsSpn%]")


@interprets("assert")
def _assert(op: Step, _machine: Machine, condition: Tile) -> tuple[()]:
    failed = np.argwhere(~condition)
    if len(failed):
        indices = ", ".join(str(index) for index in failed[:4].tolist())
        more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
        where = f" (at {indices}{more})" if condition.ndim else ""
        raise Fault(f"assertion failed: {op['message']}{where}")
    return ()


@interprets("print_tko")
def _print(op: Step, machine: Machine, args: tuple[Tile, ...], _token: None) -> tuple[None]:
    """Each directive formats every element of its tile, row by row in brackets."""
    rest = iter(zip(args, op.types[0], strict=True))

    def text(match: re.Match[str]) -> str:
        directive = match.group()
        if directive.endswith("%"):
            return "%"
        tile, kind = next(rest)
        return _format(directive, _numbers(tile, kind.element, directive[-1]))

    machine.write(_DIRECTIVE.sub(text, op["str"]))
    return (None,)


def _numbers(tile: Tile, element: TileElement, conversion: str) -> Tile:
    if element.pointee is not None:
        return tile // np.uint64(element.target.steps_per_byte)
    if element.is_float:
        return np.asarray(element.format.decode(tile))
    if conversion not in "uoxXp" and element.width > 1:
        return np.asarray(reading(tile, element, "signed"))
    if element.width in (1, 64):
        return np.asarray(reading(tile, element, "unsigned"))
    # C and NVIDIA's tools promote narrower integers to int with their sign (tests/semantics/debug_vectors.py).
    return np.asarray(reading(tile, element, "signed")).astype(np.int64) & 0xFFFFFFFF


def _format(directive: str, values: Tile) -> str:
    if values.ndim:
        return f"[{', '.join(_format(directive, row) for row in values)}]"
    return printed(directive, values.item())
