"""The promises of assume, which are looked at only when checking."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.runtime.interpret.integer import signed
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step, TensorViewType, TileType

Tile = np.ndarray


@interprets("assume")
def _assume(op: Step, machine: Machine, value: Any) -> Any:
    if not op["is_about_a_stride"]:
        check_promise(machine, op["predicate"], value, op.types[0])
    return value


def check_promise(machine: Machine, predicate: Any, value: Any, kind: TileType | TensorViewType) -> None:
    """Faults where a promise about a value does not hold, when checking."""
    if machine.check and not _holds(predicate, value, kind):
        machine.undefined(f"the promise {predicate.spelled()} does not hold{_example(value)}")


def _example(value: Any) -> str:
    return f": the value is {value.item()}" if isinstance(value, np.ndarray) and value.ndim == 0 else ""


def _holds(predicate: Any, value: Any, kind: TileType | TensorViewType) -> bool:
    if isinstance(kind, TensorViewType):
        return value.base // kind.element.steps_per_byte % predicate.divisor == 0
    if isinstance(predicate, BoundedAttr):
        numbers = signed(value, kind.element)
        low, high = predicate.lower, predicate.upper
        return (low is None or bool(np.all(numbers >= low))) and (high is None or bool(np.all(numbers <= high)))
    if isinstance(predicate, DivByAttr):
        return _divisible(predicate, value, kind)
    return _same(predicate.values, value)


def _divisible(predicate: DivByAttr, value: Tile, kind: TileType) -> bool:
    """Divisors are powers of two, so what counts is the low bits, whatever the width and sign of the numbers."""
    pointee = kind.element.pointee
    numbers = np.asarray(value if pointee else signed(value, kind.element))
    if predicate.every is not None:
        along = np.moveaxis(numbers, predicate.along, -1)
        place = np.arange(along.shape[-1])
        within = place % max(predicate.every, 1)
        # The last group may be cut short by the end of the tile.
        numbers = along[..., place - within]
        if not np.array_equal(along, numbers + (within * (pointee.steps if pointee else 1)).astype(numbers.dtype)):
            return False
    low = np.uint64(predicate.divisor * (pointee.steps_per_byte if pointee else 1) - 1)
    return not np.any(numbers.astype(np.int64).view(np.uint64) & low)


def _same(sizes: tuple[int, ...], value: Tile) -> bool:
    """Whether elements are equal within blocks of these sizes; a size of 0 or 1 says nothing along its dimension."""
    steps = [max(size, 1) for size in sizes]
    firsts = np.ix_(*(np.arange(extent) // step * step for step, extent in zip(steps, value.shape, strict=True)))
    return bool(np.all(value == value[firsts]))
