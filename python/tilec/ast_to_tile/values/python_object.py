"""Kernel values of Python objects that are defined outside the kernel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tilec.ast_to_tile.values.values import KernelValue, Record, TypedConstant
from tilec.errors import TileTypeError
from tilec.language.datatypes import foreign_dtype


def plain(value: object) -> KernelValue:
    """The kernel value of a Python object that is defined outside the kernel.

    A scalar of numpy is a constant of its type, and an instance of a dataclass a record. Raises TileTypeError for an
    instance of a dataclass that is not frozen.
    """
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return typed_scalar(value)
    if is_user_dataclass(type(value)):
        return as_record(value, plain)
    if isinstance(value, tuple):
        return tuple.__new__(type(value), map(plain, value))
    return foreign_dtype(value) or value


def typed_scalar(value: np.generic) -> KernelValue:
    """A scalar of numpy as a constant of its element type; a Python number if tiles do not have the type."""
    dtype = foreign_dtype(type(value))
    return value.item() if dtype is None else TypedConstant(value.item(), dtype)


def as_record(instance: object, convert: Callable[[object], KernelValue]) -> Record:
    """An instance of a dataclass as a record of its fields, converted by `convert`."""
    # Any: `dataclasses.fields` takes types that mypy knows as dataclasses.
    kind: Any = type(instance)
    check_dataclass(kind)
    return Record(kind, tuple(convert(getattr(instance, each.name)) for each in dataclasses.fields(kind)))


def is_user_dataclass(kind: type) -> bool:
    """Whether a class is a dataclass that is defined outside of tilec."""
    # In this order, as tilec's own classes make their fields when they are asked for them (tilec.frozen).
    return not kind.__module__.startswith("tilec.") and dataclasses.is_dataclass(kind)


def check_dataclass(kind: type) -> None:
    """Raises TileTypeError for a dataclass whose instances cannot be values of a kernel."""
    name = kind.__name__
    if not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise TileTypeError(f"expected a frozen dataclass, got '{name}': declare it with @dataclass(frozen=True)")
    if "__dataclass_params__" not in vars(kind):
        raise TileTypeError(f"expected a dataclass, got its subclass '{name}': declare '{name}' as a dataclass too")
    if kind.__new__ is not object.__new__:
        raise TileTypeError(f"the dataclass '{name}' defines __new__, which kernels do not call: remove it")
    for each in dataclasses.fields(kind):
        if each.default_factory is not dataclasses.MISSING or not each.init:
            option = "init=False" if not each.init else "default_factory"
            problem = f"the field '{each.name}' of the dataclass '{name}' has {option}"
            raise TileTypeError(f"{problem}, which kernels do not support: give it a default value")
