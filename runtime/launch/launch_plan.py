"""What native launches need to know of a compiled kernel: its function, parameters and tensor maps on one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np

from tilec.errors import InputError, UsageError
from tilec.lowering.tma.tensor_map import ELEMENTS
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ListArgument,
    PointerArgument,
    RecordArgument,
    ScalarArgument,
    TupleArgument,
)
from tilec.runtime.arguments.binding import Binding, bind
from tilec.runtime.artifact.artifact import Artifact
from tilec.runtime.artifact.metadata import Metadata, ValueParameter
from tilec.runtime.devices.devices import Device, device_for, primary_context, retained_context
from tilec.runtime.dispatch._dispatch import Launcher, Plan
from tilec.runtime.grid import grid_of
from tilec.runtime.launch.launch import launch, loaded, ordinal_of_arrays
from tilec.runtime.parameters import pack, tensor_maps
from tilec.runtime.tensor_maps.driver_tensor_map import BLACKWELL_MAJOR, constant_fields, encode_by_driver
from tilec.runtime.tensor_maps.expression import Expression, Operation, Parameter
from tilec.runtime.tensor_maps.padding_memory import extent_of_padding, reads_nothing
from tilec.runtime.tensor_maps.tensor_map import Recipe

_UNKNOWN = -1


def plan(artifact: Artifact, given: Sequence[object], grid: Sequence[int] | int | None = None) -> Plan | None:
    """The plan of native launches like one with the arguments `given`; None if only the Python path launches them.

    Loads the kernel on the device of the arrays. Raises InputError if the arguments do not match the signature or yield
    a tensor map that TMA does not support, or for an invalid grid, LaunchError if no GPU can run the kernel.
    """
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    if grid is not None:
        grid_of(grid, metadata.cluster, metadata.grid_counts_clusters, metadata.cluster_if_divisible)
    device = device_for(metadata.target, ordinal_of_arrays(binding))
    return _plan(artifact, device) if _rules_are_checked(metadata, binding) else None


def launcher(artifact: Artifact, given: Sequence[object]) -> Launcher:
    """A callable of (stream, grid) that launches with these arguments, which it keeps alive.

    Raises UsageError if an argument is a host array or none is an array, InputError as `plan` and for an array without
    elements that TMA would read.
    """
    metadata = artifact.metadata
    binding = bind(metadata.arguments, given)
    if not binding.arrays or not all(array.on_device for array in binding.named_arrays().values()):
        raise UsageError("a launcher needs arrays in device memory: pass host arrays to ct.launch")
    if binding.tables:
        raise UsageError("a launcher cannot bind lists of arrays, whose tables each launch copies: use ct.launch")
    device = device_for(metadata.target, ordinal_of_arrays(binding))
    contents = pack(
        metadata, binding, partial(encode_by_driver, capability=device.capability), _refuse_padding, _refuse_tables
    )
    bound = _plan(artifact, device)
    if bound is None:
        raise UsageError(f"kernel '{metadata.entry}' has too many parameters for a launcher: use ct.launch")
    return Launcher(bound, tuple(contents), lambda stream, grid: launch(artifact, grid, given, stream))


def _refuse_tables(_maps: np.ndarray) -> NoReturn:
    raise AssertionError("lists of arrays are refused before")


def _refuse_padding(_index: int, _byte: int) -> NoReturn:
    raise InputError("a launcher needs arrays with elements: pass empty arrays to ct.launch")


def _rules_are_checked(metadata: Metadata, binding: Binding) -> bool:
    """Checks every rule of the tensor maps: native launches repeat those that depend on the arguments.

    False if a map reads nothing, of which no rule is checked.
    """
    for index in range(len(metadata.tensor_maps)):
        maps = tensor_maps(metadata, index, binding)
        if maps and all(map(reads_nothing, maps)):
            return False
    return True


def _plan(artifact: Artifact, device: Device) -> Plan | None:
    metadata = artifact.metadata
    runtime = list(leaves(metadata.arguments))
    if any(isinstance(argument, PointerArgument) for argument in runtime):
        return None
    with primary_context(device.ordinal):
        function = int(loaded(artifact, device))
    try:
        return Plan(
            function=function,
            context=int(retained_context(device.ordinal)),
            ordinal=device.ordinal,
            block=metadata.block,
            cluster=metadata.cluster,
            grid_counts_clusters=metadata.grid_counts_clusters,
            cluster_if_divisible=metadata.cluster_if_divisible,
            shared_bytes=metadata.shared_bytes,
            arguments=[_argument(argument) for argument in runtime],
            parameters=_parameters(metadata),
            maps=[_map(recipe, metadata.allow_unconfirmed) for recipe in metadata.tensor_maps],
            blackwell=device.capability[0] >= BLACKWELL_MAJOR,
        )
    except ValueError:
        # More parameters, axes or map inputs than native launches have room for.
        return None


def leaves(arguments: Sequence[Argument]) -> Iterator[Argument]:
    """The arguments that have entry arguments, those in tuples included."""
    for argument in arguments:
        if isinstance(argument, TupleArgument | RecordArgument):
            yield from leaves(argument.items)
        elif not isinstance(argument, ConstantArgument):
            yield argument


def _argument(argument: Argument) -> tuple[str, str, int, list[int], list[int], list[int], list[int]]:
    if isinstance(argument, ScalarArgument):
        return "number", argument.element, 1, [], [], [], []
    kind = "list" if isinstance(argument, ListArgument) else "array"
    argument = argument.element if isinstance(argument, ListArgument) else argument
    assert isinstance(argument, ArrayArgument)
    shape, strides = (
        [_UNKNOWN if value is None else value for value in values] for values in (argument.shape, argument.strides)
    )
    divisors = list(argument.shape_divisors), list(argument.stride_divisors)
    return kind, argument.element, argument.alignment, shape, strides, *divisors


def _parameters(metadata: Metadata) -> list[int]:
    """For each parameter the index of its entry argument, or -1 - index of its tensor map, or of the maps of a list."""
    values = iter(range(len(metadata.values)))
    return [
        next(values) if isinstance(parameter, ValueParameter) else -1 - parameter.index
        for parameter in metadata.parameters
    ]


def _map(recipe: Recipe, unconfirmed: bool) -> dict[str, Any]:
    element = ELEMENTS[recipe.element]
    return {
        **constant_fields(recipe),
        "granule_bytes": 32 if recipe.interleave == "32B" or element.padded else 16,
        "group": element.group,
        "unconfirmed": unconfirmed,
        "list": _UNKNOWN if recipe.list is None else recipe.list,
        "extent_of_padding": extent_of_padding(recipe.element),
        "base": _program(recipe.base),
        "extents": [_program(extent) for extent in recipe.extents],
        "strides": [_program(stride) for stride in recipe.strides],
    }


def _program(expressed: Expression) -> list[tuple[str, int]]:
    """The expression as a postfix program."""
    if isinstance(expressed, Parameter):
        return [("parameter", expressed.index)]
    if isinstance(expressed, Operation):
        return [*_program(expressed.left), *_program(expressed.right), (expressed.name, 0)]
    return [("constant", expressed)]
