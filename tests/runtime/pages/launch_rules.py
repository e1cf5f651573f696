"""The rules of tensor maps that the arguments of a launch can violate, and what a launch does with such arguments.

docs/tensor_maps.md shows these rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tilec.lowering.tma.rule import Rule

# The fields of a map that a launch computes; a kernel fixes the others.
_COMPUTED = {"base", "extents", "strides"}
_RUNS = "kernels/accesses/test_launch_rules.py::test_launch_runs"


@dataclass(frozen=True)
class LaunchRule:
    """A rule, the arguments that would violate it, what the launch does instead, and the tests of the result."""

    rule: str
    arguments: str
    instead: str
    tests: tuple[str, ...]


LAUNCH_RULES = (
    LaunchRule(
        "base_alignment",
        "an address that is not a multiple of 16 bytes",
        "the alignment is a property of the signature: threads load and store the array",
        (f"{_RUNS}[sm_100a-base_alignment]",),
    ),
    LaunchRule(
        "extent_range",
        "no elements",
        "the map is replaced by one over 16 bytes of padding",
        (f"{_RUNS}[sm_100a-extent_range: 0]", "kernels/accesses/test_random_strides.py::test_equals_numpy"),
    ),
    LaunchRule(
        "extent_range",
        "more than 2**32 elements",
        "extents of 64 bits have a type of their own: threads load and store the array",
        (f"{_RUNS}[sm_100a-extent_range: 2**32 + 64]",),
    ),
    LaunchRule(
        "large_extent",
        "2**31 to 2**32 elements",
        "the same",
        (f"{_RUNS}[sm_100a-large_extent]",),
    ),
    LaunchRule(
        "packed_extent",
        "packed rows of another number of elements",
        "the divisor of the extent is a property of the signature, as in `u8[?,?%64] align 32`: threads unpack the "
        "elements",
        ("kernels/accesses/test_launch_rules.py::test_rows_of_padded_types",),
    ),
    LaunchRule(
        "stride_range",
        "a stride that is not a multiple of 16 bytes",
        "the divisor of a stride is a property of the signature: threads load and store the array",
        (f"{_RUNS}[sm_100a-stride_range: 130 bytes]",),
    ),
    LaunchRule(
        "stride_range",
        "a stride of 2**40 bytes or more",
        "strides of 64 bits have a type of their own: threads load and store the array",
        (f"{_RUNS}[sm_100a-stride_range: 2**40 bytes]",),
    ),
    LaunchRule(
        "broadcast",
        "a stride of 0",
        "it is a property of the signature: the map has one of the elements if the tile has one, else threads load and "
        "store the array",
        (
            f"{_RUNS}[sm_100a-broadcast]",
            "kernels/accesses/test_random_strides.py::test_equals_numpy",
            "tile_to_gpu/copies/stride_zero.mlir::run",
            "dispatch/test_map_cache.py::test_rules_of_the_map_are_checked",
        ),
    ),
    LaunchRule(
        "nonempty_box",
        "images that are smaller than the window",
        "the map is replaced by one over 16 bytes of padding",
        ("kernels/convolution/test_im2col_bounds.py::test_images_without_output_are_zero",),
    ),
)


def rules_of_launches(rules: Iterable[Rule]) -> set[str]:
    """The names of the rules whose checks read a field that a launch computes."""
    return {rule.name for rule in rules if _COMPUTED & set(rule.check.__code__.co_names)}
