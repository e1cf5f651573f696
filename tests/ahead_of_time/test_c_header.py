"""A C program that launches kernels by the generated header makes the driver calls of a launch from Python.

Both run with the recording driver of tests/runtime, which prints its calls and the bytes of the parameters.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from header_kernels import KERNELS, POINTERS

import tilec
from tilec.commands.command_line import main
from tilec.runtime.artifact.metadata import Metadata, TensorMapParameter, ValueParameter

EXAMPLE = Path(__file__).parents[2] / "examples" / "ahead_of_time"

C_PROGRAM = """
#define _POSIX_C_SOURCE 200112L
#include "kernels.h"
#include <stdlib.h>

CASES
int main(int count, char **arguments) {
  CUdevice device;
  CUcontext context;
  (void)count;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxPushCurrent(context);
CALLS
  return 0;
}
"""
C_CASE = """
static void case_INDEX(const char *folder) {
  tilec_kernel kernel;
  const tilec_grid grid = {GRID};
DECLARATIONS
  CUresult status;
  setenv("RECORDED_PARAMETERS", "SIZES", 1);
  printf("case INDEX\\n");
  if (NAME_mismatch(ARGUMENTS))
    printf("mismatch: %s\\n", NAME_mismatch(ARGUMENTS));
  status = NAME_load(&kernel, folder);
  kernel.programmatic_dependent_launch = OVERLAPS;
  if (status == CUDA_SUCCESS)
    status = NAME_launch(&kernel, (CUstream)(uintptr_t)0x77, grid, ARGUMENTS);
  if (status == CUDA_SUCCESS)
    status = tilec_unload(&kernel);
  if (status != CUDA_SUCCESS)
    printf("error %d\\n", (int)status);
}
"""
PYTHON_PROGRAM = """
import os, sys
import numpy as np
import tilec
from tilec.runtime.launch.launch import launch

class Array:
    def __init__(self, address, shape, strides, typestr):
        size = np.dtype(typestr).itemsize
        self.__cuda_array_interface__ = dict(
            version=3, data=(address, False), shape=shape, typestr=typestr, strides=tuple(s * size for s in strides))

"""
PYTHON_CASE = """
os.environ["RECORDED_PARAMETERS"] = "SIZES"
print("case INDEX", flush=True)
launch(tilec.load_artifact(os.path.join(sys.argv[1], "NAME.TARGET")), (GRID), (ARGUMENTS), 0x77,
       programmatic_dependent_launch=bool(OVERLAPS))
"""


@dataclass(frozen=True)
class Array:
    """A device array at an address that no one reads; strides in elements."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    typestr: str = "<f4"

    def in_c(self) -> str:
        rank = len(self.shape)
        lists = ", ".join("{" + ", ".join(map(str, values)) + "}" for values in (self.shape, self.strides))
        return f"const tilec_array_{rank}d @ = {{{self.address:#x}{', ' + lists if rank else ''}}};"

    def in_python(self) -> str:
        return f"Array({self.address}, {self.shape}, {self.strides}, {self.typestr!r})"


@dataclass(frozen=True)
class List:
    """A list of arrays of one rank."""

    arrays: tuple[Array, ...]

    def in_c(self) -> str:
        initializers = ", ".join(array.in_c().partition(" = ")[2].rstrip(";") for array in self.arrays)
        rank = len(self.arrays[0].shape)
        items = f"const tilec_array_{rank}d @_items[] = {{{initializers}}};"
        return f"{items}\n  const tilec_list_{rank}d @ = {{@_items, {len(self.arrays)}}};"

    def in_python(self) -> str:
        return f"[{', '.join(array.in_python() for array in self.arrays)}]"


@dataclass(frozen=True)
class Number:
    """A scalar, and its type in C."""

    value: int | float
    type: str

    def in_c(self) -> str:
        return f"const {self.type} @ = {int(self.value) if isinstance(self.value, bool) else self.value};"

    def in_python(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Case:
    """A launch: the name of the kernel in the folder, its grid and its arguments."""

    name: str
    grid: tuple[int, int, int]
    arguments: Sequence[Array | Number | List]
    overlaps: bool = False


def f16(address: int, *shape: int) -> Array:
    return Array(address, shape, tuple(int(stride) for stride in _row_major(shape)), "<f2")


def f32(address: int, *shape: int) -> Array:
    return Array(address, shape, tuple(int(stride) for stride in _row_major(shape)))


def _row_major(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


MATRICES = [f16(0x10000000, 200, 96), f16(0x20000000, 96, 136), f32(0x30000000, 200, 136)]
SCALARS = [
    Array(0x10000000, (8, 16), (32, 1)),
    Number(True, "int8_t"),
    Number(-5, "int8_t"),
    Number(65535, "uint16_t"),
    Number(-(2**40), "int64_t"),
    Number(0.1, "float"),
    Number(-2.5e300, "double"),
    Array(0x30000000, (), ()),
]
FILTER = [f16(0x20000000, 64, 64), f32(0x30000000, 320, 64)]
LIST = List((f32(0x10000000, 4, 8), Array(0x20000000, (16, 8), (24, 1))))
# With one row, and without elements.
PRODUCTS = [
    List((f16(0x10000000, 200, 96), f16(0x10000000, 1, 64), f16(0, 0, 64))),
    List((f16(0x20000000, 96, 136), f16(0x20000000, 64, 8), f16(0x20000000, 64, 72))),
    List((f16(0x30000000, 200, 136), f16(0x30000000, 1, 8), f16(0, 0, 72))),
]
CASES = {
    "matrices": Case("matmul", (4, 3, 1), MATRICES),
    "clusters": Case("clusters", (4, 4, 1), MATRICES),
    "no block": Case("matmul", (0, 3, 1), MATRICES),
    "one row": Case("matmul", (1, 3, 1), [f16(0x10000000, 1, 96), MATRICES[1], f32(0x30000000, 1, 136)]),
    "strides of one row": Case(
        "matmul", (1, 3, 1), [Array(0x10000000, (1, 96), (3, 1), "<f2"), MATRICES[1], f32(0x30000000, 1, 136)]
    ),
    "no elements": Case("matmul", (4, 3, 1), [f16(0, 200, 0), f16(0, 0, 136), MATRICES[2]]),
    "scalars": Case("scalars", (2, 1, 1), SCALARS),
    "windows": Case("windows_0", (3, 1, 1), [f16(0x10000000, 40, 2, 15, 64), *FILTER]),
    "no images": Case("windows_0", (3, 1, 1), [f16(0x10000000, 0, 9, 9, 64), *FILTER]),
    "no rows": Case("windows_0", (3, 1, 1), [f16(0x10000000, 2, 0, 9, 64), *FILTER]),
    "wide windows": Case("windows_1", (3, 1, 1), [f16(0x10000000, 40, 2, 15, 64), *FILTER]),
    "no wide rows": Case("windows_2", (3, 1, 1), [f16(0x10000000, 2, 9, 0, 64), *FILTER]),
    "overlap": Case("matmul", (4, 3, 1), MATRICES, overlaps=True),
    "overlap of clusters": Case("clusters", (4, 4, 1), MATRICES, overlaps=True),
    "lists": Case("listed", (1, 1, 1), [LIST, f32(0x30000000, 4, 8), Number(0.5, "float")]),
    "list without a launch": Case("listed", (0, 1, 1), [LIST, f32(0x30000000, 4, 8), Number(0.5, "float")]),
    "products of lists": Case("products", (4, 1, 1), [*PRODUCTS, MATRICES[1]]),
    "extent of 64 bits": Case("large", (2, 1, 1), [f32(0x10000000, 2**33)]),
    "pointers": Case("pointers", (1, 1, 1), [Number(0x10000000, "CUdeviceptr"), Number(-7, "int32_t")]),
}


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folder of the kernels of each target, with a header."""
    folder = tmp_path_factory.mktemp("headers")
    folders = {}
    for target, modes in (("sm_90a", ["im2col"]), ("sm_100a", ["im2col", "w", "w128"])):
        sources = folder / f"sources_{target}"
        sources.mkdir()
        (sources / "kernels.py").write_text(KERNELS.replace("MODES", repr(modes)))
        (sources / "pointers.mlir").write_text(POINTERS)
        folders[target] = folder / target
        options = "--folder", str(folders[target]), "--target", target, "--header", "kernels.h"
        assert main(["compile", str(sources), *options]) == 0
    return folders


def compiler(name: str) -> str:
    return os.environ.get({"cc": "CC", "c++": "CXX"}[name]) or shutil.which(name) or pytest.skip(f"no {name}")


def cuda_include() -> Path:
    """The folder of cuda.h: of the package nvidia-cuda-runtime, Triton's, or of an installed toolkit."""
    roots = [Path(entry) for entry in sys.path if entry] + [Path("/usr/local/cuda/include")]
    patterns = ("nvidia/cu*/include/cuda.h", "triton/backends/nvidia/include/cuda.h", "cuda.h")
    found = next((path for root in roots for pattern in patterns for path in root.glob(pattern)), None)
    return found.parent if found else pytest.skip("no cuda.h: install nvidia-cuda-runtime")


def built(program: Path, include: Path, recording_driver: Path, language: str = "cc", standard: str = "c99") -> Path:
    """The program, compiled without warnings and linked with the recording driver."""
    warnings = "-Wall", "-Wextra", "-Werror", "-pedantic"
    output = program.with_suffix("")
    search = f"-I{include}", "-isystem", cuda_include()
    command = [compiler(language), f"-std={standard}", *warnings, *search, program, "-o", output]
    subprocess.run([*command, recording_driver / "libcuda.so.1"], check=True)
    return output


def names_of(target: str) -> list[str]:
    """The cases of a target: the modes w and w128 of im2col exist on sm_100a only."""
    return [name for name in CASES if target == "sm_100a" or "wide" not in name]


def filled(template: str, index: int, case: Case, metadata: Metadata, **replaced: str) -> str:
    """The template of a case with its grid, its name and the sizes of its parameters."""
    values = {
        "GRID": ", ".join(map(str, case.grid)),
        "NAME": metadata_name(case, metadata.target),
        "TARGET": metadata.target,
        "SIZES": " ".join(map(str, sizes(metadata))),
        "OVERLAPS": str(int(case.overlaps)),
        "INDEX": str(index),
        **replaced,
    }
    return re.sub("|".join(values), lambda match: values[match[0]], template)


def metadata_name(case: Case, target: str) -> str:
    """The name in the folder; on sm_90a `windows` has one signature, and so no number."""
    return case.name.replace("windows_0", "windows") if target == "sm_90a" else case.name


def sizes(metadata: Metadata) -> list[int]:
    """The size in bytes of each parameter."""
    return [
        int(parameter.type.lstrip("usbf")) // 8
        if isinstance(parameter, ValueParameter)
        else 128
        if isinstance(parameter, TensorMapParameter)
        else 8
        for parameter in metadata.parameters
    ]


def c_case(index: int, case: Case, metadata: Metadata) -> str:
    names = [f"argument{position}" for position in range(len(case.arguments))]
    declared = [argument.in_c().replace("@", name) for argument, name in zip(case.arguments, names, strict=True)]
    lines = "\n".join(f"  {line}" for line in declared)
    return filled(C_CASE, index, case, metadata, DECLARATIONS=lines, ARGUMENTS=", ".join(names))


def python_case(index: int, case: Case, metadata: Metadata) -> str:
    arguments = "".join(f"{argument.in_python()}, " for argument in case.arguments)
    return filled(PYTHON_CASE, index, case, metadata, ARGUMENTS=arguments)


def recorded(command: Sequence[object], recording_driver: Path, target: str) -> list[list[str]]:
    """The lines of the driver for each case, without those of loading; addresses of padding memory are masked."""
    major = "9" if target == "sm_90a" else "10"
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(recording_driver),
        "RECORDED_MAJOR": major,
        "PYTHONUNBUFFERED": "1",
    }
    process = subprocess.run([str(each) for each in command], capture_output=True, text=True, env=environment)
    assert process.returncode == 0, process.stdout + process.stderr
    setup = ("load", "allocate", "free", "unload", "function")
    lines = [line for line in process.stdout.splitlines() if "in stream" in line or not line.startswith(setup)]
    masked = [re.sub(r"address (?!0x[123]0000000\b)\S+", "address PADDING", line) for line in lines]
    starts = [index for index, line in enumerate(masked) if line.startswith("case ")]
    return [masked[start + 1 : end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


@pytest.fixture(scope="module")
def records(
    headers: dict[str, Path], recording_driver: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], tuple[list[str], list[str]]]:
    """The lines of the driver for each case and target, from C and from Python."""
    found = {}
    for target in ("sm_90a", "sm_100a"):
        names = names_of(target)
        cases = [CASES[name] for name in names]
        stems = [headers[target] / f"{metadata_name(case, target)}.{target}" for case in cases]
        each = [(*pair, tilec.load_artifact(stem).metadata) for pair, stem in zip(enumerate(cases), stems, strict=True)]
        calls = "\n".join(f"  case_{index}(arguments[1]);" for index in range(len(cases)))
        text = C_PROGRAM.replace("CASES\n", "".join(c_case(*one) for one in each)).replace("CALLS", calls)
        program = tmp_path_factory.mktemp(target) / "launch.c"
        program.write_text(text)
        from_c = recorded(
            [built(program, headers[target], recording_driver), headers[target]], recording_driver, target
        )
        python = PYTHON_PROGRAM + "".join(python_case(*one) for one in each)
        from_python = recorded([sys.executable, "-c", python, headers[target]], recording_driver, target)
        for name, c_lines, python_lines in zip(names, from_c, from_python, strict=True):
            found[name, target] = c_lines, python_lines
    return found


@pytest.mark.parametrize(("name", "target"), [(name, t) for t in ("sm_90a", "sm_100a") for name in names_of(t)])
def test_c_makes_the_calls_of_python(records, name: str, target: str) -> None:
    from_c, from_python = records[name, target]
    assert from_c == from_python
    assert bool([line for line in from_c if line.startswith("launch grid")]) == (0 not in CASES[name].grid)


@pytest.mark.parametrize(("language", "standard"), [("cc", "c99"), ("cc", "c17"), ("c++", "c++11"), ("c++", "c++20")])
def test_header_is_valid_in_c_and_cpp(
    headers: dict[str, Path], recording_driver: Path, tmp_path: Path, language: str, standard: str
) -> None:
    program = tmp_path / ("main.cpp" if language == "c++" else "main.c")
    program.write_text(
        '#include "kernels.h"\n#include "kernels.h"\nint main(void) { return sizeof(tilec_kernel) == 0; }\n'
    )
    executable = built(program, headers["sm_100a"], recording_driver, language, standard)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver)}
    assert subprocess.run([executable], env=environment).returncode == 0


def test_example_adds_vectors(recording_driver: Path, tmp_path: Path) -> None:
    targets = "--target", "sm_90a", "--target", "sm_100a"
    command = ["compile", str(EXAMPLE / "kernels.py"), "--folder", str(tmp_path / "out"), "--header", "kernels.h"]
    assert main([*command, *targets]) == 0
    shutil.copy(EXAMPLE / "main.c", tmp_path)
    executable = built(tmp_path / "main.c", tmp_path / "out", recording_driver)
    # The entry arguments are address, extent and stride of a, b and c.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver), "RECORDED_POSITIONS": "0 3 6 1"}
    process = subprocess.run([executable, tmp_path / "out"], capture_output=True, text=True, env=environment)
    assert (process.returncode, process.stderr) == (0, "")
    assert "PASSED: 10000 sums" in process.stdout
    assert "launch grid 10,1,1 block" in process.stdout


MISMATCHES = {
    "alignment": [0x10000008, "{8, 16}", "{32, 1}"],
    "known extent": [0x10000000, "{8, 8}", "{32, 1}"],
    "divisor": [0x10000000, "{6, 16}", "{32, 1}"],
    "negative extent": [0x10000000, "{-4, 16}", "{32, 1}"],
    "large extent": [0x10000000, "{2147483648, 16}", "{32, 1}"],
    "known stride": [0x10000000, "{8, 16}", "{32, 2}"],
    "negative stride": [0x10000000, "{8, 16}", "{-32, 1}"],
}
REQUIREMENT = "double: f32[?%4,16] strides (?%4,1) align 16"
MISMATCH_PROGRAM = """
#include "kernels.h"
int main(void) {
  const tilec_grid grid = {1, 1, 1};
  const tilec_array_0d result = {0x20000000};
CASES
  return 0;
}
"""
MISMATCH_CASE = """  {
    const tilec_array_2d array = {ARRAY};
    puts(scalars_mismatch(array, 1, 2, 3, 4, 5, 6, result));
    printf("%d\\n", (int)scalars_launch(NULL, NULL, grid, array, 1, 2, 3, 4, 5, 6, result));
  }"""


def test_arguments_that_do_not_fit_are_refused(
    headers: dict[str, Path], recording_driver: Path, tmp_path: Path
) -> None:
    arrays = [", ".join(map(str, values)) for values in MISMATCHES.values()]
    cases = "\n".join(MISMATCH_CASE.replace("ARRAY", array) for array in arrays)
    (tmp_path / "main.c").write_text(MISMATCH_PROGRAM.replace("CASES", cases))
    executable = built(tmp_path / "main.c", headers["sm_90a"], recording_driver)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver)}
    process = subprocess.run([executable], capture_output=True, text=True, env=environment)
    # cuda.h: CUDA_ERROR_INVALID_VALUE is 1.
    assert process.stdout.splitlines() == [REQUIREMENT, "1"] * len(MISMATCHES)


REPEATED_ROW_PROGRAM = """
#include "kernels.h"
int main(void) {
  const tilec_grid grid = {1, 1, 1};
  const tilec_array_2d array = {0x10000000, {64, 64}, {64, 1}}, rows = {0x10000000, {64, 64}, {0, 1}};
  tilec_kernel kernel;
  CUdevice device;
  CUcontext context;
  cuInit(0);
  cuDeviceGet(&device, 0);
  cuDevicePrimaryCtxRetain(&context, device);
  cuCtxPushCurrent(context);
  if (matmul_load(&kernel, FOLDER))
    return 1;
  printf("%d\\n", (int)matmul_launch(&kernel, NULL, grid, rows, array, array));
  return 0;
}
"""


def test_stride_of_0_that_the_signature_does_not_state_has_no_map(
    headers: dict[str, Path], recording_driver: Path, tmp_path: Path
) -> None:
    program = REPEATED_ROW_PROGRAM.replace("FOLDER", f'"{headers["sm_90a"]}"')
    (tmp_path / "main.c").write_text(program)
    executable = built(tmp_path / "main.c", headers["sm_90a"], recording_driver)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver), "RECORDED_MAJOR": "9"}
    process = subprocess.run([executable], capture_output=True, text=True, env=environment)
    # cuda.h: CUDA_ERROR_INVALID_VALUE is 1.
    assert (process.stdout.splitlines()[-1:], process.returncode) == (["1"], 0)


def test_list_with_an_array_that_does_not_fit_is_refused(
    headers: dict[str, Path], recording_driver: Path, tmp_path: Path
) -> None:
    (tmp_path / "main.c").write_text(LIST_PROGRAM)
    executable = built(tmp_path / "main.c", headers["sm_90a"], recording_driver)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver)}
    process = subprocess.run([executable], capture_output=True, text=True, env=environment)
    requirement = "arrays: list f32[?%1,?%8] strides (?%4,1) align 16"
    assert process.stdout.splitlines() == ["fits", "fits", requirement, requirement, "1"]


LIST_PROGRAM = """
#include "kernels.h"
static void show(const char *requirement) { puts(requirement ? requirement : "fits"); }
int main(void) {
  const tilec_grid grid = {1, 1, 1};
  const tilec_array_2d total = {0x20000000, {4, 8}, {8, 1}};
  const tilec_array_2d arrays[] = {{0x10000000, {4, 8}, {8, 1}}, {0x10000000, {4, 12}, {12, 1}}};
  const tilec_list_2d fits = {arrays, 1}, empty = {NULL, 0}, both = {arrays, 2}, negative = {arrays, -1};
  show(listed_mismatch(fits, total, 0.5f));
  show(listed_mismatch(empty, total, 0.5f));
  show(listed_mismatch(both, total, 0.5f));
  show(listed_mismatch(negative, total, 0.5f));
  printf("%d\\n", (int)listed_launch(NULL, NULL, grid, both, total, 0.5f));
  return 0;
}
"""
