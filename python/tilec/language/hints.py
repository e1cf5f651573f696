"""Compiler hints of a kernel, with one value for all targets or a value per target."""

from __future__ import annotations

import re
from typing import TypeAlias

from tilec.errors import HintError, KernelUseError
from tilec.frozen import Frozen, replace

# sm_<major><minor>, as in sm_100: hints do not distinguish sm_100 and sm_100a.
_TARGET_NAME = re.compile(r"sm_[0-9]+")


class ByTarget:
    """The value of a hint that depends on the target.

    Args:
        default: the value for all other targets; the compiler chooses if it is None.
        values: the values by target; target names have no suffix: sm_90, sm_100.

    Raises:
        ValueError: a target name is not of the form sm_<number>.

    Example:
        >>> @ct.kernel(num_ctas=ct.ByTarget(sm_100=2, default=1))
        ... def example(x): ct.store(x, 0, ct.ones(4, ct.int32))
        >>> example.hints.num_ctas
        ByTarget(default=1, sm_100=2)
    """

    def __init__(self, *, default: int | None = None, **values: int | None) -> None:
        for target in values:
            if not _TARGET_NAME.fullmatch(target):
                raise ValueError(f"expected targets named sm_<number>, such as sm_100, got '{target}'")
        self.default = default
        self.values = values

    def __repr__(self) -> str:
        values = "".join(f", {target}={value}" for target, value in self.values.items())
        return f"ByTarget(default={self.default}{values})"


Hint: TypeAlias = int | ByTarget | None


class Hints(Frozen):
    """The hints of a kernel; each is a value, a `ByTarget`, or None if the compiler chooses."""

    num_ctas: Hint = None
    occupancy: Hint = None
    opt_level: Hint = None
    num_worker_warps: Hint = None

    def replace(self, **changes: Hint) -> Hints:
        """A copy with some hints replaced; raises KernelUseError for an unknown name, HintError for a bad value."""
        for name, value in changes.items():
            if name not in _LIMITS:
                raise KernelUseError(f"unknown hint '{name}', expected one of: {', '.join(_LIMITS)}")
            for single in [value.default, *value.values.values()] if isinstance(value, ByTarget) else [value]:
                _check(name, single)
        return replace(self, **changes)

    def by_target(self) -> dict[str, dict[str, int]]:
        """{target or "default": {hint name in Tile IR: value}}, without opt_level, which Tile IR does not have."""
        table: dict[str, dict[str, int]] = {}
        for name, key in _KEYS.items():
            value = getattr(self, name)
            values = {"default": value.default, **value.values} if isinstance(value, ByTarget) else {"default": value}
            for target, single in values.items():
                if single is not None:
                    table.setdefault(target, {})[key] = single
        return table

    def opt_level_for(self, target: str) -> int | None:
        """The optimization level of ptxas for a target."""
        level = self.opt_level
        return level.values.get(target.rstrip("a"), level.default) if isinstance(level, ByTarget) else level


NO_HINTS = Hints()

# The names of hints in Tile IR and the ranges of all hints (Tile IR 13.1 to 13.5, entry operation).
_KEYS = {
    "num_ctas": "num_cta_in_cga",
    "occupancy": "occupancy",
    "num_worker_warps": "num_worker_warps_per_cta",
}
_LIMITS = {"num_ctas": (1, 16), "occupancy": (1, 32), "opt_level": (0, 3), "num_worker_warps": (1, 32)}
_POWERS_OF_TWO = ("num_ctas", "num_worker_warps")


def _check(name: str, value: int | None) -> None:
    if value is None:
        return
    least, greatest = _LIMITS[name]
    power = " that is a power of two" if name in _POWERS_OF_TWO else ""
    not_a_power = bool(power) and isinstance(value, int) and value & (value - 1) != 0
    if type(value) is not int or not least <= value <= greatest or not_a_power:
        raise HintError(f"hint '{name}': expected an integer from {least} to {greatest}{power}, got {value!r}")
