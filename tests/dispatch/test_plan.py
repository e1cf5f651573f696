"""Kernels that native launches have no room for, which therefore take the Python path."""

from __future__ import annotations

from typing import Any

import pytest

from tilec.runtime.dispatch._dispatch import Plan
from tilec.runtime.tensor_maps.driver_tensor_map import constant_fields
from tilec.runtime.tensor_maps.expression import Parameter
from tilec.runtime.tensor_maps.tensor_map import Recipe

VECTOR = constant_fields(Recipe(Parameter(0), "f32", (Parameter(1),), (), (4,), (1,))) | {
    "granule_bytes": 16,
    "list": -1,
    "extent_of_padding": 4,
    "group": 1,
    "unconfirmed": False,
    "base": [("parameter", 0)],
    "extents": [[("parameter", 1)]],
    "strides": [],
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arguments": [("array", "f32", 16, [8] * 9, [1] * 9, [1] * 9, [1] * 9)]}, "an argument that is not planned"),
        ({"arguments": [("text", "f32", 16, [], [], [], [])]}, "an argument that is not planned"),
        ({"maps": [VECTOR | {"base": [("power", 0)]}]}, "unknown operator"),
        ({"maps": [VECTOR | {"strides": [[("constant", 16)]]}]}, "a tensor map that is not planned"),
        ({"maps": [VECTOR] * 33}, "a kernel that is not planned"),
    ],
)
def test_kernel_is_not_planned(changes: dict[str, Any], message: str) -> None:
    fields = {"function": 0, "context": 0, "ordinal": 0, "block": (1, 1, 1), "cluster": (1, 1, 1), "shared_bytes": 0}
    fields |= {"grid_counts_clusters": False, "cluster_if_divisible": False, "blackwell": True}
    with pytest.raises(ValueError, match=message):
        Plan(**fields, **{"arguments": [], "maps": [], "parameters": [], **changes})
