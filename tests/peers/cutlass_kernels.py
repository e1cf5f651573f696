"""Kernels of CUTLASS, which nvcc compiles and whose parameters CUTLASS makes on the host, run in the simulator."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from cuda_compiler import nvcc

from tilec.lowering.tma.rules import violations
from tilec.lowering.tma.tensor_map import ELEMENTS, FILLS, INTERLEAVES, SWIZZLES, TensorMap, with_usable_strides
from tilec.runtime.simulate import Settings, Shape, run_text
from tilec.runtime.tensor_maps.tensor_map import SIZE_BYTES, encode_for_simulator

SEEDS = range(3)
# CUTLASS 4.2 emits no tcgen05.fence between the wait for the product and the loads of it. That a wait with acquire
# semantics suffices is undocumented (PTX ISA 9.7.16.6.4). All other checks remain enabled.
UNFENCED_LOAD = "race: 'tcgen05.ld.* reads tensor memory .* while a write of it is not known to be complete"


class Launch(ctypes.Structure):
    """struct Launch of cutlass/launch.h."""

    _fields_ = [
        ("grid", ctypes.c_int * 3),
        ("block", ctypes.c_int * 3),
        ("cluster", ctypes.c_int * 3),
        ("shared_bytes", ctypes.c_int),
        ("parameter_bytes", ctypes.c_int),
        ("parameters", ctypes.c_char * 4096),
    ]


EXTENTS, COUNTS, CORNER = (ctypes.POINTER(kind) for kind in (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_int))
# Map, type, rank, address, extents and strides; interleave, swizzle and fill.
FIRST = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, EXTENTS, EXTENTS)
LAST = (ctypes.c_int, ctypes.c_int, ctypes.c_int)


@ctypes.CFUNCTYPE(ctypes.c_int, *FIRST, COUNTS, COUNTS, *LAST)
def encode_tiled(target, data_type, rank, base, extents, strides, box, element_strides, interleave, swizzle, fill):
    """Stands in for cuTensorMapEncodeTiled; returns the number of violated rules."""
    tensor_map = TensorMap(
        extents=tuple(extents[:rank]),
        strides=tuple(strides[: rank - 1]),
        box=tuple(box[:rank]),
        element_strides=tuple(element_strides[:rank]),
        base=base,
        **enumerator_names(data_type, interleave, swizzle, fill),
    )
    return store_map(target, tensor_map)


@ctypes.CFUNCTYPE(ctypes.c_int, *FIRST, CORNER, CORNER, ctypes.c_uint32, ctypes.c_uint32, COUNTS, *LAST)
def encode_im2col(
    target, data_type, rank, base, extents, strides, lower, upper, channels, pixels, element_strides, interleave,
    swizzle, fill,
):  # fmt: skip
    """Stands in for cuTensorMapEncodeIm2col; returns the number of violated rules."""
    tensor_map = TensorMap(
        kind="im2col",
        extents=tuple(extents[:rank]),
        strides=tuple(strides[: rank - 1]),
        box=(),
        lower=tuple(lower[: rank - 2]),
        upper=tuple(upper[: rank - 2]),
        channels_per_pixel=channels,
        pixels_per_column=pixels,
        element_strides=tuple(element_strides[:rank]),
        base=base,
        **enumerator_names(data_type, interleave, swizzle, fill),
    )
    return store_map(target, tensor_map)


def enumerator_names(data_type: int, interleave: int, swizzle: int, fill: int) -> dict[str, str]:
    """The fields of TensorMap for these enumerators of the driver."""
    return {
        "element": next(name for name, row in ELEMENTS.items() if row.host_enumerator == data_type),
        "interleave": next(name for name, code in INTERLEAVES.items() if code == interleave),
        "swizzle": next(name for name, row in SWIZZLES.items() if row.host_enumerator == swizzle),
        "fill": next(name for name, code in FILLS.items() if code == fill),
    }


# The maps that the current launch encodes.
encoded: list[TensorMap] = []


def store_map(target: int, tensor_map: TensorMap) -> int:
    """Writes the map to the address `target`; returns the number of violated rules."""
    # CUTLASS gives the stride 0 to the batch, whose extent is 1.
    encoded.append(with_usable_strides(tensor_map))
    ctypes.memmove(target, encode_for_simulator(encoded[-1]), SIZE_BYTES)
    return len(list(violations(encoded[-1])))


class Kernels:
    """A source of the folder cutlass, compiled for a target to PTX and to a library that makes its launches."""

    def __init__(self, name: str, target: str, folder: Path, macros: Iterable[str] = ()) -> None:
        spec = find_spec("cutlass_library")
        assert spec is not None and spec.submodule_search_locations is not None
        headers = Path(spec.submodule_search_locations[0]) / "source"
        library = folder / f"{name}.so"
        architecture = target.replace("sm", "compute")
        subprocess.run(
            [
                *(nvcc(), Path(__file__).parent / "cutlass" / f"{name}.cu", "-o", library, "-std=c++17", "-O1"),
                *("-shared", "-Xcompiler", "-fPIC", "--expt-relaxed-constexpr", "--keep", "--keep-dir", folder),
                *("-gencode", f"arch={architecture},code={architecture}", f"-I{headers / 'include'}"),
                *(f"-I{headers / 'tools' / 'util' / 'include'}", *(f"-D{macro}" for macro in macros)),
            ],
            check=True,
            cwd=folder,
        )
        self.ptx = (folder / f"{name}.ptx").read_text()
        self._host_code = ctypes.CDLL(str(library))
        self._host_code.set_encoders(encode_tiled, encode_im2col)

    def run(
        self,
        entry: str,
        problem: Sequence[object],
        arrays: list[np.ndarray],
        settings: Settings,
        results: int = 1,
    ) -> list[TensorMap]:
        """Runs an entry, whose function `launch_<entry>` takes the problem and pointers to arrays.

        The last arrays receive the results. Returns the tensor maps of the launch.
        """
        encoded.clear()
        launch = Launch()
        make_launch = self._host_code[f"launch_{entry}"]
        make_launch.restype = ctypes.c_bool
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        assert make_launch(ctypes.byref(launch), *problem, *pointers)
        shape = Shape(tuple(launch.grid), tuple(launch.block), tuple(launch.cluster), launch.shared_bytes)
        parameters = bytes(launch)[Launch.parameters.offset :][: launch.parameter_bytes]
        inputs = len(arrays) - results
        ranges = [(array.ctypes.data, array.nbytes, number >= inputs) for number, array in enumerate(arrays)]
        run_text(self.ptx, entry, shape, parameters, ranges, settings, "cutlass.ptx")
        return list(encoded)
