"""Optimization hints: the keys of each operation and their ranges.

NVIDIA's tools pass over hints that they do not know unless they are asked to check them; so do we.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tilec.dialect.mlir import ir

ARCHITECTURES = tuple(f"sm_{number}" for number in (80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
# Architectures without clusters: one CTA per group.
_WITHOUT_CLUSTERS = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")

Check = Callable[[str, ir.Attribute], str | None]


def _integer(attribute: ir.Attribute) -> int | None:
    # MLIR represents booleans as one-bit integers.
    return attribute.value if isinstance(attribute, ir.IntegerAttr) and str(attribute.type) != "i1" else None


def _power_of_two(highest: int) -> Check:
    def check(_: str, attribute: ir.Attribute) -> str | None:
        value = _integer(attribute)
        if value is None:
            return "integer value expected"
        if not 1 <= value <= highest or value & (value - 1):
            return f"expected power of two up to {highest}"
        return None

    return check


def _in_range(highest: int) -> Check:
    def check(_: str, attribute: ir.Attribute) -> str | None:
        value = _integer(attribute)
        if value is None:
            return "integer value expected"
        return None if 1 <= value <= highest else f"integer value in the range [1, {highest}] is expected"

    return check


def _group_size(architecture: str, attribute: ir.Attribute) -> str | None:
    if architecture in _WITHOUT_CLUSTERS and _integer(attribute) not in (None, 1):
        return "expected 1"
    return _power_of_two(16)(architecture, attribute)


def _boolean(_: str, attribute: ir.Attribute) -> str | None:
    return None if isinstance(attribute, ir.BoolAttr) else "boolean value expected"


_KERNEL: dict[str, Check] = {
    "num_cta_in_cga": _group_size,
    "num_worker_warps_per_cta": _power_of_two(32),
    "occupancy": _in_range(32),
}
_POINTERS: dict[str, Check] = {"latency": _in_range(10)}
_VIEWS: dict[str, Check] = {**_POINTERS, "allow_tma": _boolean}
HINTS: dict[str, dict[str, Check]] = {
    "cuda_tile.entry": _KERNEL,
    "cuda_tile.load_ptr_tko": _POINTERS,
    "cuda_tile.store_ptr_tko": _POINTERS,
    "cuda_tile.load_view_tko": _VIEWS,
    "cuda_tile.store_view_tko": _VIEWS,
    "tilex.load_im2col_tko": _VIEWS,
    "tilex.store_im2col_tko": _VIEWS,
    "tilex.load_packed_tko": _POINTERS,
    "tilex.store_packed_tko": _POINTERS,
}


def hint_problems(op: ir.OpView) -> Iterator[str]:
    """The problems with the hints of an operation: unknown keys, values of the wrong kind or out of range."""
    known = HINTS.get(op.OPERATION_NAME, {})
    for architecture in op.optimization_hints if "optimization_hints" in op.attributes else ():
        if architecture.name != "default" and architecture.name not in ARCHITECTURES:
            yield f"unknown hint key {architecture.name}: expected default, {', '.join(ARCHITECTURES)}"
            continue
        for hint in architecture.attr:
            if hint.name not in known:
                yield f"{hint.name} is not a known hint for '{op.spelled_name}': expected {', '.join(known)}"
                continue
            problem = known[hint.name](architecture.name, hint.attr)
            if problem is not None:
                yield f"{problem} for {architecture.name}.{hint.name}, but got {_shown(hint.attr)}"


def _shown(attribute: ir.Attribute) -> str:
    return str(attribute.value) if isinstance(attribute, ir.IntegerAttr) else str(attribute)
