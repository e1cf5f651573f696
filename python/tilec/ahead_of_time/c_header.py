"""A C header that launches the kernels of a folder through the CUDA driver API, without tilec and Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tilec.ahead_of_time.c_contract import bind_call, contract_lines
from tilec.ahead_of_time.c_list import bind_list, list_type, map_table_function, table_function
from tilec.ahead_of_time.c_support import MAX_RANK, support_text
from tilec.ahead_of_time.c_tensor_map import tensor_map_lines
from tilec.errors import UnsupportedError
from tilec.runtime.arguments.arguments import (
    Argument,
    ArrayArgument,
    ConstantArgument,
    ListArgument,
    PointerArgument,
    ScalarArgument,
    leaves,
)
from tilec.runtime.artifact import artifact as artifacts
from tilec.runtime.artifact.kernel_index import Variant
from tilec.runtime.artifact.metadata import Metadata, TensorMapTableParameter, ValueParameter
from tilec.version import VERSION

# Element type of a scalar -> its C type. The 16-bit and 8-bit floats are passed as their bits.
_SCALARS = {
    "i1": "int8_t",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "f64": "double",
    "f32": "float",
    "tf32": "float",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "f8E4M3FN": "uint8_t",
    "f8E5M2": "uint8_t",
    "f8E8M0FNU": "uint8_t",
}
# Names of the generated functions, and words of C and C++ that Python programs use as names.
_RESERVED = frozenset(
    "kernel image stream grid folder values pointers status storage maps map parameters tables at words alignas "
    "alignof and asm auto bitand bitor bool case catch char class const constexpr decltype default delete do "
    "double else enum explicit export extern false float for friend goto if inline int long mutable namespace "
    "new noexcept not nullptr operator or private protected public register restrict return short signed sizeof "
    "static struct switch template this throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while xor".split()
)


@dataclass(frozen=True)
class _Parameter:
    """An argument of the C function: its name and type, and the index of its first entry argument."""

    argument: ArrayArgument | PointerArgument | ScalarArgument | ListArgument
    name: str
    type: str
    index: int


def _lists(parameters: Sequence[_Parameter]) -> list[tuple[_Parameter, ListArgument]]:
    return [(each, each.argument) for each in parameters if isinstance(each.argument, ListArgument)]


def header_text(folder: Path, variants: Sequence[Variant], name: str) -> str:
    """The header for the variants, whose files are in `folder`; `name` is that of its file.

    Raises UnsupportedError for a kernel whose arguments have no C type.
    """
    guard = re.sub(r"\W", "_", name).upper()
    names = dict.fromkeys(variant.name for variant in variants)
    kernels = [_kernel(folder, [variant for variant in variants if variant.name == name]) for name in names]
    return "\n".join(
        [
            f"/* The kernels of this folder, compiled by tilec {VERSION}, for C and C++.",
            "",
            "   NAME_load reads the cubin for the device of the current context, NAME_launch launches asynchronously,",
            "   and tilec_unload frees what NAME_load allocated. Arrays are in device memory. If the arguments do not",
            "   satisfy a requirement of the kernel, NAME_launch returns CUDA_ERROR_INVALID_VALUE, and NAME_mismatch",
            "   the requirement as a text, else NULL. Link with libcuda. */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            *(f"#include <{name}.h>" for name in ("cuda", "stdint", "stdio", "stdlib", "string")),
            "",
            *("#ifdef __cplusplus", 'extern "C" {', "#endif"),
            support_text(),
            *kernels,
            *("#ifdef __cplusplus", "}", "#endif"),
            f"#endif /* {guard} */",
            "",
        ]
    )


def _kernel(folder: Path, variants: Sequence[Variant]) -> str:
    """The functions of one signature, for all its targets."""
    name = variants[0].name
    if name == "tilec":
        raise UnsupportedError("a C header has functions of its own with the prefix 'tilec_': rename kernel 'tilec'")
    metadata = [artifacts.load_metadata(folder / variant.files["metadata"]) for variant in variants]
    parameters = _parameters(name, metadata[0].arguments)
    images = [_image(variant, each) for variant, each in zip(variants, metadata, strict=True)]
    return "\n".join(
        [
            f"/* {name}: {_shown(metadata[0].arguments)} */",
            f"static const tilec_image {name}_images[] = {{",
            *images,
            "};",
            "",
            *_bind_function(name, parameters),
            *(line for each, argument in _lists(parameters) for line in table_function(name, argument, each.name)),
            *(line for each in metadata for line in _target_function(name, each, parameters)),
            *_public_functions(name, parameters, metadata),
        ]
    )


def _shown(arguments: Sequence[Argument]) -> str:
    texts = [
        f"{argument.name}: ptr<{argument.element}>" if isinstance(argument, PointerArgument) else str(argument)
        for argument in arguments
    ]
    return ", ".join(texts).replace("*/", "* /")


def _parameters(kernel: str, arguments: Sequence[Argument]) -> list[_Parameter]:
    parameters: list[_Parameter] = []
    index, used = 0, set(_RESERVED)
    for argument in leaves(arguments):
        if isinstance(argument, ConstantArgument):
            continue
        assert isinstance(argument, ArrayArgument | PointerArgument | ScalarArgument | ListArgument)
        name = _identifier(argument.name, used)
        used.add(name)
        parameters.append(_Parameter(argument, name, _type(kernel, argument), index))
        index += len(argument.value_names())
    return parameters


def _identifier(name: str, used: set[str]) -> str:
    """A name of C; an item of a tuple or a field of a record has the name `tuple_0` or `record_field`."""
    name = re.sub(r"\W+", "_", name.replace("]", ""), flags=re.ASCII)
    while name in used:
        name += "_"
    return name


def _type(kernel: str, argument: ArrayArgument | PointerArgument | ScalarArgument | ListArgument) -> str:
    if isinstance(argument, ArrayArgument | ListArgument):
        array = argument.element if isinstance(argument, ListArgument) else argument
        if array.rank > MAX_RANK:
            raise UnsupportedError(
                f"a C header supports arrays of rank 0 to {MAX_RANK}, and '{argument.name}' of kernel '{kernel}' has "
                f"rank {array.rank}: reshape it, or launch it from Python"
            )
        return list_type(argument) if isinstance(argument, ListArgument) else f"tilec_array_{array.rank}d"
    if isinstance(argument, PointerArgument):
        return "CUdeviceptr"
    if argument.element not in _SCALARS:
        raise UnsupportedError(
            f"a C header does not support the number '{argument.name}' of kernel '{kernel}', whose type is "
            f"{argument.element}: launch it from Python"
        )
    return _SCALARS[argument.element]


def _image(variant: Variant, metadata: Metadata) -> str:
    def triple(values: Sequence[int]) -> str:
        return "{" + ", ".join(map(str, values)) + "}"

    names = f'{_capability(metadata.target)}, "{variant.files["cubin"]}", "{metadata.entry}"'
    blocks_of_tile = metadata.cluster if metadata.grid_counts_clusters else (1, 1, 1)
    extents = ", ".join(map(triple, (metadata.block, metadata.cluster, blocks_of_tile)))
    shape = f"{extents}, {metadata.shared_bytes}"
    return f"    {{{names}, {shape}, {len(metadata.tensor_maps)}}},"


def _capability(target: str) -> int:
    """10 times the major compute capability plus the minor one."""
    return int(target.removeprefix("sm_").rstrip("af"))


def _declared(parameters: Sequence[_Parameter]) -> str:
    return "".join(f", {parameter.type} {parameter.name}" for parameter in parameters)


def _passed(parameters: Sequence[_Parameter]) -> str:
    return "".join(f", {parameter.name}" for parameter in parameters)


def _bind_function(name: str, parameters: Sequence[_Parameter]) -> list[str]:
    """The function that writes the entry arguments, and returns the requirement that is not met."""
    lines = [f"static inline const char *{name}_bind(int64_t *values{_declared(parameters)}) {{"]
    for parameter in parameters:
        argument = parameter.argument
        if isinstance(argument, ArrayArgument):
            lines += _bind_array(argument, parameter)
        elif isinstance(argument, ListArgument):
            lines += bind_list(argument, parameter.name, parameter.index)
        elif isinstance(argument, PointerArgument):
            lines.append(f"  values[{parameter.index}] = (int64_t){parameter.name};")
            lines.append(f"  if ({parameter.name} % {argument.alignment})")
            lines.append(f'    return "{parameter.name}: an address that is a multiple of {argument.alignment} bytes";')
        elif parameter.type in ("float", "double"):
            lines.append(f"  (void){parameter.name};")
            lines.append(f"  values[{parameter.index}] = 0;")
        else:
            value = f"{parameter.name} != 0" if argument.element == "i1" else f"(int64_t){parameter.name}"
            lines.append(f"  values[{parameter.index}] = {value};")
    return [*lines, "  (void)values;", "  return NULL;", "}", ""]


def _bind_array(argument: ArrayArgument, parameter: _Parameter) -> list[str]:
    contract = f"{parameter.name}_contract"
    return [
        *(f"  {line}" for line in contract_lines(contract, argument)),
        f"  if (!{bind_call(contract, parameter.name, argument.rank, f'values + {parameter.index}')})",
        f'    return "{argument}";',
    ]


def _target_function(name: str, metadata: Metadata, parameters: Sequence[_Parameter]) -> Iterator[str]:
    """The functions that encode the tensor maps of one target, and the one that launches."""
    lists = {each.index: (each, argument) for each, argument in _lists(parameters)}
    tables = {index: lists[recipe.list] for index, recipe in enumerate(metadata.tensor_maps) if recipe.list is not None}
    functions = {index: f"{name}_maps_{metadata.target}_{index}" for index in tables}
    for index, (listed, argument) in tables.items():
        recipe = metadata.tensor_maps[index]
        yield from map_table_function(functions[index], argument, listed.name, recipe, index)
    yield f"static inline CUresult {name}_launch_{metadata.target}(const tilec_kernel *kernel,"
    yield "    const tilec_image *image, CUstream stream, tilec_grid grid, const int64_t *values,"
    yield f"    void **pointers{_declared(_mapped(metadata, parameters))}) {{"
    yield f"  void *parameters[{max(1, len(metadata.parameters))}];"
    maps = len(metadata.tensor_maps)
    if maps:
        yield "  CUresult status = CUDA_SUCCESS;"
    if maps > len(tables):
        yield f"  CUtensorMap storage[{maps + 1}], *const maps = tilec_aligned(storage);"
        yield "  tilec_tensor_map map;"
    if tables:
        yield f"  CUdeviceptr tables[{maps}] = {{0}};"
    for index, recipe in enumerate(metadata.tensor_maps):
        if recipe.list is None:
            yield from tensor_map_lines(recipe, index)
    yield "  (void)values;"
    yield "  (void)pointers;"
    for index, (listed, _) in tables.items():
        yield "  if (status == CUDA_SUCCESS)"
        yield f"    status = {functions[index]}(kernel, {listed.name}, stream, &tables[{index}]);"
    values = iter(range(len(metadata.values)))
    for position, parameter in enumerate(metadata.parameters):
        if isinstance(parameter, ValueParameter):
            yield f"  parameters[{position}] = pointers[{next(values)}];"
        else:
            array = "tables" if isinstance(parameter, TensorMapTableParameter) else "maps"
            yield f"  parameters[{position}] = &{array}[{parameter.index}];"
    launch = "tilec_launch(kernel, image, stream, grid, parameters)"
    if tables:
        yield "  if (status == CUDA_SUCCESS)"
        yield f"    status = {launch};"
        yield f"  return tilec_free_tables(tables, {maps}, stream, status);"
    else:
        yield f"  return {launch};"
    yield from ("}", "")


def _mapped(metadata: Metadata, parameters: Sequence[_Parameter]) -> list[_Parameter]:
    """The lists of whose arrays the kernel has tensor maps."""
    tables = {recipe.list for recipe in metadata.tensor_maps}
    return [each for each, _ in _lists(parameters) if each.index in tables]


def _public_functions(name: str, parameters: Sequence[_Parameter], metadata: Sequence[Metadata]) -> list[str]:
    count, lists = max(1, len(metadata[0].values)), _lists(parameters)
    return [
        f"static inline CUresult {name}_load(tilec_kernel *kernel, const char *folder) {{",
        f"  return tilec_load(kernel, {name}_images, {len(metadata)}, folder);",
        "}",
        "",
        f"static inline const char *{name}_mismatch({_declared(parameters)[2:] or 'void'}) {{",
        f"  int64_t values[{count}];",
        f"  return {name}_bind(values{_passed(parameters)});",
        "}",
        "",
        f"static inline CUresult {name}_launch(const tilec_kernel *kernel, CUstream stream, tilec_grid grid"
        f"{_declared(parameters)}) {{",
        f"  int64_t values[{count}];",
        f"  void *pointers[{count}];",
        *([f"  CUdeviceptr tables[{len(lists)}] = {{0}};"] if lists else []),
        "  CUresult status = CUDA_SUCCESS;",
        "  int i;",
        *_launch_statements(name, parameters, metadata, count),
        "}",
        "",
    ]


def _launch_statements(
    name: str, parameters: Sequence[_Parameter], metadata: Sequence[Metadata], count: int
) -> Iterator[str]:
    """Binds the arguments, copies the tables of lists, and calls the launch function of the target of the device."""
    lists = _lists(parameters)
    yield f"  if ({name}_bind(values{_passed(parameters)}))"
    yield "    return CUDA_ERROR_INVALID_VALUE;"
    yield "  /* A grid without blocks launches nothing, and encodes nothing. */"
    yield "  if (!grid.x || !grid.y || !grid.z)"
    yield "    return CUDA_SUCCESS;"
    yield "  /* Hosts of CUDA are little endian: a narrow parameter is the start of its value. */"
    yield f"  for (i = 0; i < {count}; ++i)"
    yield "    pointers[i] = &values[i];"
    for parameter in parameters:
        if parameter.type in ("float", "double"):
            yield f"  pointers[{parameter.index}] = &{parameter.name};"
    for position, (parameter, _) in enumerate(lists):
        yield "  if (status == CUDA_SUCCESS)"
        yield f"    status = {name}_table_{parameter.name}({parameter.name}, stream, &tables[{position}]);"
        yield f"  values[{parameter.index}] = (int64_t)tables[{position}];"
    if lists:
        yield "  if (status != CUDA_SUCCESS)"
        yield f"    return tilec_free_tables(tables, {len(lists)}, stream, status);"
    yield "  switch (kernel->capability) {"
    for position, each in enumerate(metadata):
        image = f"&{name}_images[{position}]"
        yield f"  case {_capability(each.target)}:"
        listed = _passed(_mapped(each, parameters))
        yield f"    status = {name}_launch_{each.target}(kernel, {image}, stream, grid, values, pointers{listed});"
        yield "    break;"
    yield "  default:"
    yield "    status = CUDA_ERROR_NOT_INITIALIZED;"
    yield "  }"
    yield f"  return tilec_free_tables(tables, {len(lists)}, stream, status);" if lists else "  return status;"
