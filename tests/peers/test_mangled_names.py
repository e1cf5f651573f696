"""Symbols of exported kernels: tilec and cuTile Python give the same names to the same constraints."""

from __future__ import annotations

import importlib
import random
from types import ModuleType
from typing import Any

import pytest

import tilec as ct

pytestmark = pytest.mark.peers

SCALARS = "bool_ int8 uint16 int32 uint64 float16 bfloat16 float32 float64 tfloat32 float8_e5m2 float8_e8m0fnu".split()
CONSTANTS = (True, 0, -7, 42, 2.5, -0.0, float("inf"), float("nan"))


def chosen(random_: random.Random, count: int, *values: Any) -> list[Any]:
    return [random_.choice(values) for _ in range(count)]


def array(random_: random.Random, library: ModuleType) -> Any:
    rank = random_.randrange(4)
    constants = chosen(random_, rank, None, 1, 8, 64)
    return library.compilation.ArrayConstraint(
        getattr(library, random_.choice(SCALARS)),
        rank,
        index_dtype=getattr(library, random_.choice(["int32", "uint32", "int64"])),
        stride_lower_bound_incl=chosen(random_, rank, None, 0, -3) if rank and random_.random() < 0.5 else 0,
        # cuTile asserts that groups are in the order of their first use.
        alias_groups=random_.choice([(), ("a",), ("a", "b")]),
        may_alias_internally=random_.random() < 0.3,
        stride_constant=constants,
        shape_constant=chosen(random_, rank, None, 16),
        stride_divisible_by=[1 if constant else random_.choice([1, 4, 8]) for constant in constants],
        shape_divisible_by=chosen(random_, rank, 1, 2, 16),
        base_addr_divisible_by=random_.choice([1, 16]),
    )


def parameter(random_: random.Random, library: ModuleType, depth: int = 0) -> Any:
    kind = random_.randrange(5 if depth < 2 else 3)
    if kind == 0:
        return library.compilation.ScalarConstraint(getattr(library, random_.choice(SCALARS)))
    if kind == 1:
        return random_.choice(CONSTANTS)
    if kind == 2:
        return array(random_, library)
    if kind == 3:
        return tuple(parameter(random_, library, depth + 1) for _ in range(random_.randrange(3)))
    element = array(random_, library)
    return library.compilation.ListConstraint(element, alias_groups=(), elements_may_alias=random_.random() < 0.5)


def symbol(seed: int, library: ModuleType) -> str:
    random_ = random.Random(seed)
    # The last two arrays make every alias group that the others use a group of two or more.
    both = [array_in_groups(library) for _ in range(2)]
    parameters = [*(parameter(random_, library) for _ in range(random_.randrange(4))), *both]
    convention = library.compilation.CallingConvention.cutile_python_v2()
    return library.compilation.KernelSignature(parameters, convention).with_mangled_symbol("my_Kernel").symbol


def array_in_groups(library: ModuleType) -> Any:
    return library.compilation.ArrayConstraint(
        library.int8,
        1,
        index_dtype=library.int32,
        stride_lower_bound_incl=0,
        alias_groups=("a", "b"),
        may_alias_internally=False,
    )


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_symbols_are_those_of_cutile_and_can_be_read(first: int) -> None:
    cutile = importlib.import_module("cuda.tile")
    for seed in range(first, first + 100):
        name = symbol(seed, ct)
        assert name == symbol(seed, cutile)
        function, signature = ct.compilation.demangle_kernel_name(name)
        assert function == "my_Kernel"
        assert ct.compilation.mangle_kernel_name(function, signature) == name
