"""Arguments of the functions that encode tensor maps: their types, and the rules of TMA as errors that name them."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from tilec.errors import InputError
from tilec.lowering.target import TARGETS, Target, target_of_architecture
from tilec.lowering.tma.rule import Violation, driver_source
from tilec.lowering.tma.rules import violations
from tilec.lowering.tma.tensor_map import ELEMENTS, FILLS, INTERLEAVES, L2_PROMOTIONS, SWIZZLES, WIDE_KINDS, TensorMap
from tilec.runtime.arrays import is_array, view
from tilec.runtime.tensor_maps.tensor_map import encode_for_simulator

BACKENDS = ("simulate", "launch")
# The widest field of a map.
MAX_BITS = 64


@dataclass(frozen=True)
class Call:
    """A call of a function that encodes maps of a kind; its methods return checked arguments or raise InputError."""

    function: str
    kind: str

    def refuse(self, argument: str, expected: str, found: str, source: str = "") -> NoReturn:
        """Raises InputError for an argument."""
        suffix = f" ({source})" if source else ""
        raise InputError(
            f"'tensor_map.{self.function}', argument '{argument}': expected {expected}, got {found}{suffix}"
        )

    def name(self, argument: str, value: Any, names: Collection[str], ptx: str = "") -> str:
        """One of the names, which the driver's function and a section of PTX define."""
        if not isinstance(value, str) or value not in names:
            source = driver_source(self.kind, argument) + (f"; PTX ISA {ptx}" if ptx else "")
            self.refuse(argument, f"one of {', '.join(names)}", _shown(value), source)
        return value

    def element(self, value: Any) -> str:
        """The name of an element type."""
        return self.name("element", getattr(value, "element", value), ELEMENTS, "5.5.1")

    def address(self, value: Any) -> int:
        """An address in bytes, or that of an array."""
        return view(value, "base").address if is_array(value) else self.integer("base", value)

    def integer(self, argument: str, value: Any) -> int:
        """An integer of at most 64 bits, which may be a scalar of numpy."""
        source = "" if argument == "device" else driver_source(self.kind, argument.partition("[")[0])
        try:
            number = None if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = None
        if number is None:
            self.refuse(argument, "an integer", repr(value), source)
        if number.bit_length() > MAX_BITS:
            self.refuse(argument, f"an integer of at most {MAX_BITS} bits", _shown(number), source)
        return number

    def integers(self, argument: str, values: Any) -> tuple[int, ...]:
        """A sequence of integers."""
        # An array of numpy without dimensions is an Iterable that cannot be iterated over.
        if not isinstance(values, Iterable) or isinstance(values, str | bytes) or getattr(values, "shape", None) == ():
            self.refuse(argument, "a sequence of integers", _shown(values), driver_source(self.kind, argument))
        return tuple(self.integer(f"{argument}[{index}]", value) for index, value in enumerate(values))

    def tensor(
        self,
        element: Any,
        base: Any,
        extents: Any,
        strides: Any,
        element_strides: Any,
        interleave: Any,
        swizzle: Any,
        l2_promotion: Any,
        fill: Any,
    ) -> dict[str, Any]:
        """The fields of a TensorMap that do not depend on its kind."""
        shape = self.integers("extents", extents)
        return {
            "kind": self.kind,
            "element": self.element(element),
            "base": self.address(base),
            "extents": shape,
            "strides": self.integers("strides", strides),
            "element_strides": (
                (1,) * len(shape) if element_strides is None else self.integers("element_strides", element_strides)
            ),
            "interleave": self.name("interleave", interleave, INTERLEAVES, "5.5.6"),
            "swizzle": self.name("swizzle", swizzle, SWIZZLES, "5.5.7"),
            "l2_promotion": self.name("l2_promotion", l2_promotion, L2_PROMOTIONS),
            "fill": self.name("fill", fill, FILLS, "5.5.3.3"),
        }

    def encode(self, tensor_map: TensorMap, target: Any, backend: Any, device: Any, unconfirmed: Any) -> bytes:
        """The encoded map, for the simulator or by the driver of a GPU; raises InputError for a violated rule."""
        if not isinstance(unconfirmed, bool):
            self.refuse("allow_unconfirmed", "True or False", _shown(unconfirmed))
        chosen = None if target is None else TARGETS[self.choice("target", target, TARGETS)]
        if self.choice("backend", backend, BACKENDS) == "launch":
            return self._encode_on(self.integer("device", device), tensor_map, chosen, unconfirmed)
        self._check(tensor_map, chosen, unconfirmed)
        return encode_for_simulator(tensor_map)

    def choice(self, argument: str, value: Any, choices: Collection[str]) -> str:
        """One of the choices that tilec has."""
        if not isinstance(value, str) or value not in choices:
            self.refuse(argument, f"one of {', '.join(choices)}", _shown(value))
        return value

    def _check(self, tensor_map: TensorMap, target: Target | None, unconfirmed: bool) -> None:
        for violation in violations(tensor_map, target, unconfirmed):
            self.refuse(self._argument(violation), violation.expected, violation.found, violation.source)

    def _encode_on(self, ordinal: int, tensor_map: TensorMap, target: Target | None, unconfirmed: bool) -> bytes:
        # The driver's bindings are imported for launches only.
        from tilec.runtime.devices.devices import devices, primary_context
        from tilec.runtime.tensor_maps.driver_tensor_map import encode_by_driver

        found = {device.ordinal: device for device in devices()}
        if ordinal not in found:
            self.refuse("device", f"one of the {len(found)} GPUs of this machine", str(ordinal))
        device = found[ordinal]
        if target is not None and target.architecture != device.architecture:
            self.refuse("target", f"the architecture {device.architecture} of GPU {ordinal}", target.name)
        self._check(tensor_map, target_of_architecture(device.architecture), unconfirmed)
        with primary_context(ordinal):
            return encode_by_driver(tensor_map, device.capability)

    def _argument(self, violation: Violation) -> str:
        """The argument of a violation; strides start with dimension 1, and corners of the wide kinds are integers."""
        field, dimension = violation.field, violation.dimension
        if field == "rank":
            return "extents"
        if dimension is None or (field in ("lower", "upper") and self.kind in WIDE_KINDS):
            return field
        return f"{field}[{dimension - (field == 'strides')}]"


def _shown(value: object) -> str:
    """The value as Python writes it; integers beyond the limit of digits that Python converts by their size."""
    if isinstance(value, int) and value.bit_length() > 2 * MAX_BITS:
        return f"one of {value.bit_length()} bits"
    return repr(value)
