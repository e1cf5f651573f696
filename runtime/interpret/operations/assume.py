"""The assumptions of `assume`, verified only when checking."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilec.dialect import undefined_behaviour
from tilec.dialect.cuda_tile.attributes import BoundedAttr, DivByAttr
from tilec.lowering.tile.analysis.stride_assumptions import Predicate
from tilec.runtime.interpret.machine import Machine
from tilec.runtime.interpret.numbers.integer import signed
from tilec.runtime.interpret.registry import interprets
from tilec.runtime.interpret.step import Step, TensorViewType, TileType

Tile = np.ndarray


@interprets("assume")
def _assume(op: Step, machine: Machine, value: object) -> object:
    if not op["is_stride"]:
        check_assumption(machine, op["predicate"], value, op.types[0])
    return value


def check_assumption(machine: Machine, predicate: Predicate, value: object, kind: TileType | TensorViewType) -> None:
    """When checking, raises Fault if an assumption about a value does not hold."""
    if machine.check and not _holds(predicate, value, kind):
        machine.undefined(undefined_behaviour.assumption(predicate.spelled()) + _example(value))


def _example(value: object) -> str:
    return f": the value is {value.item()}" if isinstance(value, np.ndarray) and value.ndim == 0 else ""


def _holds(predicate: Predicate, value: Any, kind: TileType | TensorViewType) -> bool:
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
    """Tests the low bits only, whatever the width and sign of the numbers: divisors are powers of two."""
    pointee = kind.element.pointee
    numbers = np.asarray(value if pointee else signed(value, kind.element))
    if predicate.every is not None:
        along = np.moveaxis(numbers, predicate.along, -1)
        positions = np.arange(along.shape[-1])
        within = positions % max(predicate.every, 1)
        # The end of the tile may truncate the last group.
        numbers = along[..., positions - within]
        if not np.array_equal(along, numbers + (within * (pointee.steps if pointee else 1)).astype(numbers.dtype)):
            return False
    low = np.uint64(predicate.divisor * (pointee.steps_per_byte if pointee else 1) - 1)
    return not np.any(numbers.astype(np.int64).view(np.uint64) & low)


def _same(sizes: tuple[int, ...], value: Tile) -> bool:
    """Whether elements are equal within blocks of these sizes; a size of 0 or 1 says nothing along its dimension."""
    steps = [max(size, 1) for size in sizes]
    firsts = np.ix_(*(np.arange(extent) // step * step for step, extent in zip(steps, value.shape, strict=True)))
    return bool(np.all(value == value[firsts]))
