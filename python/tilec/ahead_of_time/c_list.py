"""The C text for a list of arrays: its check, and its tables in memory that the stream of the launch allocates.

tilec.runtime.launch.list_tables does the same for launches from Python.
"""

from __future__ import annotations

from tilec.ahead_of_time.c_contract import bind_call, contract_lines
from tilec.ahead_of_time.c_tensor_map import encode_lines
from tilec.runtime.arguments.arguments import ListArgument
from tilec.runtime.tensor_maps.tensor_map import Recipe


def bind_list(argument: ListArgument, name: str, index: int) -> list[str]:
    """Statements that return the requirement if the list does not satisfy it, and write its length."""
    contract = f"{name}_contract"
    element = bind_call(contract, f"{name}.arrays[at]", argument.element.rank, "words")
    return [
        "  {",
        f"    {contract_lines(contract, argument.element)[0]}",
        f"    int64_t at, words[{_words(argument)}];",
        f"    if ({name}.count < 0 || {name}.count > INT32_MAX)",
        f'      return "{argument}";',
        f"    for (at = 0; at < {name}.count; ++at)",
        f"      if (!{element})",
        f'        return "{argument}";',
        f"    values[{index}] = 0;",
        f"    values[{index + 1}] = {name}.count;",
        "  }",
    ]


def table_function(kernel: str, argument: ListArgument, name: str) -> list[str]:
    """The function that starts the copy of the table of a list that satisfies its requirement."""
    contract = f"{name}_contract"
    element = bind_call(contract, "list.arrays[at]", argument.element.rank, f"table + {_words(argument)} * at")
    return [
        f"static inline CUresult {kernel}_table_{name}({list_type(argument)} list, CUstream stream, "
        "CUdeviceptr *address) {",
        f"  {contract_lines(contract, argument.element)[0]}",
        f"  const size_t bytes = (size_t)list.count * {_words(argument)} * sizeof(int64_t);",
        "  int64_t *const table = (int64_t *)malloc(bytes + 1);",
        "  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;",
        "  int64_t at;",
        "  for (at = 0; table && at < list.count; ++at)",
        f"    {element};",
        "  if (table)",
        "    status = tilec_copy_table(address, table, bytes, stream);",
        "  free(table);",
        "  return status;",
        "}",
        "",
    ]


def map_table_function(function: str, argument: ListArgument, name: str, recipe: Recipe, index: int) -> list[str]:
    """The function that encodes map `index` of a kernel for each array of a list, and starts the copy of the maps."""
    contract = f"{name}_contract"
    element = bind_call(contract, "list.arrays[at]", argument.element.rank, "values")
    return [
        f"static inline CUresult {function}(const tilec_kernel *kernel, {list_type(argument)} list, CUstream stream,",
        "    CUdeviceptr *address) {",
        f"  {contract_lines(contract, argument.element)[0]}",
        "  CUtensorMap *const storage = (CUtensorMap *)malloc(((size_t)list.count + 1) * sizeof(CUtensorMap));",
        "  CUtensorMap *const maps = tilec_aligned(storage);",
        "  CUresult status = storage ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;",
        f"  int64_t at, values[{_words(argument)}];",
        "  tilec_tensor_map map;",
        "  for (at = 0; status == CUDA_SUCCESS && at < list.count; ++at) {",
        f"    {element};",
        *(f"  {line}" for line in encode_lines(recipe, "at", index)),
        "  }",
        "  if (status == CUDA_SUCCESS)",
        "    status = tilec_copy_table(address, maps, (size_t)list.count * sizeof(CUtensorMap), stream);",
        "  free(storage);",
        "  return status;",
        "}",
        "",
    ]


def list_type(argument: ListArgument) -> str:
    return f"tilec_list_{argument.element.rank}d"


def _words(argument: ListArgument) -> int:
    """The words of one array in the table: the address, the extents and the strides."""
    return 1 + 2 * argument.element.rank
