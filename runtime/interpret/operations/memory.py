"""Accesses through pointers, and tokens. Operations run in program order, one of the orders that tokens allow."""

from __future__ import annotations

import numpy as np

from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.memory import access
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step

Tile = np.ndarray


@interprets("make_token", "join_tokens", "memory_fence_alias_tko", "gdc_launch_dependents_tko", "gdc_wait_tko")
def _token(_op: Step, _machine: Machine, *_tokens: object) -> tuple[None]:
    return (None,)


def unwritten(op: Step, machine: Machine) -> np.ndarray:
    """The value of an undefined element: zero, or poison when checking."""
    return access.poison(op.element) if machine.check else np.zeros((), op.element.dtype)


@interprets("load_ptr_tko")
def _load(
    op: Step, machine: Machine, source: Tile, mask: Tile | None, padding: Tile | None, _token: None
) -> tuple[Tile, None]:
    fill = unwritten(op, machine) if padding is None else padding
    return access.load(machine.memory, source, mask, op.element, fill), None


@interprets("store_ptr_tko")
def _store(op: Step, machine: Machine, destination: Tile, value: Tile, mask: Tile | None, _token: None) -> tuple[None]:
    access.store(machine.memory, destination, mask, op.types[1].element, value)
    return (None,)


@interprets("alloca")
def _alloca(op: Step, machine: Machine) -> Tile:
    pointee, alignment = op.element.target, op["alignment"]
    size_bytes = -(-op["num_elem"] * pointee.bits // 8)
    return np.asarray(machine.allocate(size_bytes, alignment) * pointee.steps_per_byte, np.uint64)
