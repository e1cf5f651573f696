"""Launch metadata of a compiled entry: the schema `tilec.launch/1`, every field validated."""

from __future__ import annotations

import json

from tilec.frozen import Frozen, field_names
from tilec.runtime.arguments.arguments import Argument, ListArgument, leaves, read_arguments
from tilec.runtime.arguments.elements import PARAMETER_DTYPES
from tilec.runtime.json_record import Record
from tilec.runtime.tensor_maps import expression
from tilec.runtime.tensor_maps.tensor_map import Recipe, read_recipe, write_recipe

SCHEMA = "tilec.launch/1"

# CUDA programming guide, "Technical Specifications per Compute Capability".
MAX_THREADS = 1024
# CUDA programming guide, "Thread Block Clusters": the largest non-portable cluster of Hopper and Blackwell.
MAX_CLUSTER = 16


class ValueParameter(Frozen):
    """A kernel parameter that holds one entry argument."""

    type: str
    name: str


class TensorMapParameter(Frozen):
    """A kernel parameter of 128 bytes that holds the tensor map of the recipe `index`."""

    index: int


class TensorMapTableParameter(Frozen):
    """A kernel parameter with the address of a table of tensor maps in global memory: one of the recipe `index` for
    each array of its list."""

    index: int


Parameter = ValueParameter | TensorMapParameter | TensorMapTableParameter
_MAPS: dict[str, type[TensorMapParameter | TensorMapTableParameter]] = {
    "tensor_map": TensorMapParameter,
    "tensor_map_table": TensorMapTableParameter,
}


class Metadata(Frozen):
    """The launch metadata of an entry."""

    entry: str
    target: str
    arguments: tuple[Argument, ...]
    parameters: tuple[Parameter, ...]
    tensor_maps: tuple[Recipe, ...]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)
    # Whether the grid of a launch counts clusters, each of which runs one tile block; otherwise it counts blocks.
    grid_counts_clusters: bool = False
    # Whether a launch whose grid cannot be divided into clusters has none; otherwise it is an error.
    cluster_if_divisible: bool = False
    shared_bytes: int = 0
    allow_unconfirmed: bool = False
    ptx_version: str = ""
    ptx_sha256: str = ""
    tilec_version: str = ""
    # The name and version of the assembler of the cubin; empty without a cubin.
    assembler: str = ""

    @property
    def values(self) -> tuple[ValueParameter, ...]:
        return tuple(parameter for parameter in self.parameters if isinstance(parameter, ValueParameter))


FIELDS = {"schema", *field_names(Metadata)}


def read(record: Record) -> Metadata:
    """The metadata in a `.launch.json`; raises InputError, naming a missing or invalid field."""
    if record["schema"].text() != SCHEMA:
        raise record["schema"].error(f"'{SCHEMA}'")
    record.only(FIELDS)
    tensor_maps = tuple(read_recipe(item) for item in record["tensor_maps"].items())
    metadata = Metadata(
        entry=record["entry"].text(),
        target=record["target"].text(),
        arguments=read_arguments(record["arguments"]),
        parameters=tuple(_read_parameter(item, len(tensor_maps)) for item in record["parameters"].items()),
        tensor_maps=tensor_maps,
        block=_triple(record["block"], MAX_THREADS),
        cluster=_triple(record.get("cluster", [1, 1, 1]), MAX_CLUSTER),
        grid_counts_clusters=record.get("grid_counts_clusters", False).boolean(),
        cluster_if_divisible=record.get("cluster_if_divisible", False).boolean(),
        shared_bytes=record.get("shared_bytes", 0).integer(0),
        allow_unconfirmed=record.get("allow_unconfirmed", False).boolean(),
        ptx_version=record.get("ptx_version", "").text(),
        ptx_sha256=record.get("ptx_sha256", "").text(),
        tilec_version=record.get("tilec_version", "").text(),
        assembler=record.get("assembler", "").text(),
    )
    _check_counts(record, metadata)
    return metadata


def _check_counts(record: Record, metadata: Metadata) -> None:
    flattened = sum(len(argument.value_names()) for argument in metadata.arguments)
    values = len(metadata.values)
    if values != flattened:
        raise record["parameters"].error(f"{flattened} values, one per entry argument,")
    words = _words_of_lists(metadata.arguments)
    for index, recipe in enumerate(metadata.tensor_maps):
        if recipe.list is not None and recipe.list not in words:
            raise record["tensor_maps"].items()[index].error("the entry argument of the table of a list")
        count = values if recipe.list is None else words[recipe.list]
        for expressed in (recipe.base, *recipe.extents, *recipe.strides):
            if expression.largest_parameter(expressed) >= count:
                raise record["tensor_maps"].items()[index].error(f"parameters below {count}")
    for parameter in metadata.parameters:
        if not isinstance(parameter, ValueParameter):
            recipe = metadata.tensor_maps[parameter.index]
            if isinstance(parameter, TensorMapTableParameter) != (recipe.list is not None):
                raise record["parameters"].error("a tensor_map_table for each tensor map of a list, and for no other,")
    for name, triple, limit in (("block", metadata.block, MAX_THREADS), ("cluster", metadata.cluster, MAX_CLUSTER)):
        if triple[0] * triple[1] * triple[2] > limit:
            raise record[name].error(f"a product of at most {limit}")


def _words_of_lists(arguments: tuple[Argument, ...]) -> dict[int, int]:
    """The words per array of each list, by the entry argument of its table."""
    found, number = dict[int, int](), 0
    for argument in leaves(arguments):
        if isinstance(argument, ListArgument):
            found[number] = 1 + 2 * argument.element.rank
        number += len(argument.value_names())
    return found


def _triple(record: Record, limit: int) -> tuple[int, int, int]:
    x, y, z = (item.integer(1, limit) for item in record.items(3))
    return x, y, z


def _read_parameter(record: Record, tensor_maps: int) -> Parameter:
    kind = record["kind"].text({"value", *_MAPS})
    if kind in _MAPS:
        return _MAPS[kind](record.only({"kind", "index"})["index"].integer(0, tensor_maps - 1))
    record.only({"kind", "type", "name"})
    return ValueParameter(record["type"].text(PARAMETER_DTYPES), record.get("name", "").text())


def _write_parameter(parameter: Parameter) -> dict[str, object]:
    if not isinstance(parameter, ValueParameter):
        return {
            "kind": next(kind for kind, made in _MAPS.items() if isinstance(parameter, made)),
            "index": parameter.index,
        }
    return {"kind": "value", "type": parameter.type, "name": parameter.name}


def to_text(metadata: Metadata) -> str:
    """The text of a `.launch.json`: one field per line, one parameter and one tensor map per line."""
    lines = [f"  {json.dumps(name)}: {_spread(value)}" for name, value in _fields(metadata).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def to_line(metadata: Metadata) -> str:
    """The JSON of the metadata on one line."""
    return json.dumps(_fields(metadata))


def _fields(metadata: Metadata) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "entry": metadata.entry,
        "target": metadata.target,
        "ptx_version": metadata.ptx_version,
        "ptx_sha256": metadata.ptx_sha256,
        "tilec_version": metadata.tilec_version,
        "assembler": metadata.assembler,
        "arguments": [argument.to_json() for argument in metadata.arguments],
        "parameters": [_write_parameter(parameter) for parameter in metadata.parameters],
        "tensor_maps": [write_recipe(recipe) for recipe in metadata.tensor_maps],
        "block": list(metadata.block),
        "cluster": list(metadata.cluster),
        **({"grid_counts_clusters": True} if metadata.grid_counts_clusters else {}),
        **({"cluster_if_divisible": True} if metadata.cluster_if_divisible else {}),
        "shared_bytes": metadata.shared_bytes,
        "allow_unconfirmed": metadata.allow_unconfirmed,
    }


def _spread(value: object) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value)
    return "[\n" + ",\n".join(f"    {json.dumps(item)}" for item in value) + "\n  ]"
