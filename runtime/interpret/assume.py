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
    predicate, kind = op["predicate"], op.types[0]
    if machine.check and not _holds(predicate, value, kind):
        machine.undefined(f"the promise {predicate.spelled()} does not hold{_example(value)}")
    return value


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
    pointee = kind.element.pointee
    numbers = np.asarray(value if pointee else signed(value, kind.element))
    divisor = predicate.divisor * (pointee.steps_per_byte if pointee else 1)
    if predicate.every is None:
        return not np.any(numbers % numbers.dtype.type(divisor))
    step = pointee.steps if pointee else 1
    along = np.moveaxis(numbers, predicate.along, -1)
    groups = along.reshape(*along.shape[:-1], -1, max(predicate.every, 1))
    first = groups[..., :1]
    expected = first + (np.arange(groups.shape[-1]) * step).astype(numbers.dtype)
    return not np.any(first % numbers.dtype.type(divisor)) and bool(np.all(groups == expected))


def _same(sizes: tuple[int, ...], value: Tile) -> bool:
    """Whether elements are equal within blocks of these sizes; a size of 0 or 1 says nothing along its dimension."""
    steps = [max(size, 1) for size in sizes]
    firsts = np.ix_(*(np.arange(extent) // step * step for step, extent in zip(steps, value.shape, strict=True)))
    return bool(np.all(value == value[firsts]))
