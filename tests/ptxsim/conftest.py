"""Fixtures that compose PTX kernels and run them in the simulator."""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from tilec.runtime.ptxsim import _native

# Programs shared by several tests are modules of this folder. Tests of the tensor cores import each other.
sys.path[:0] = [str(Path(__file__).parent / folder) for folder in (".", "tensor")]

_NUMBERS = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16")
_ELEMENT_NAMES = (*_NUMBERS, "b4x16", "b4x16_p64", "b6x16_p32")
# tf32 and tf32.ftz have the codes of f32 and f32.ftz, and a separate flag.
_TF32_FLAG = 1 << 16 - 7
ELEMENTS = {name: code for code, name in enumerate(_ELEMENT_NAMES)}
ELEMENTS |= {"tf32": 7 | _TF32_FLAG, "tf32.ftz": 8 | _TF32_FLAG}
SWIZZLES = {
    "none": (0, 0),
    "32B": (1, 0),
    "64B": (2, 0),
    "128B": (3, 0),
    "128B_atom_32B": (3, 1),
    "128B_atom_32B_flip_8B": (3, 2),
    "128B_atom_64B": (3, 3),
    "96B": (0, 8),  # bit 22, the fourth above the atomicity
}


def _encode(
    address: int,
    element: str,
    extents: Sequence[int],
    strides: Sequence[int],
    box: Sequence[int],
    swizzle: str = "none",
    element_strides: Sequence[int] = (),
    fill_nan: bool = False,
    interleave: int = 0,
) -> bytes:
    """The 128 bytes of a tensor map; dimension 0 is innermost, `strides` are in bytes, of dimensions 1 and up."""
    rank = len(extents)
    mode, atom = SWIZZLES[swizzle]
    flags = (rank - 1) << 4 | ELEMENTS[element] << 7 | interleave << 11 | mode << 13 | fill_nan << 15 | atom << 19
    strides = [*strides, *[0] * (4 - len(strides))]
    extents = [*extents, *[1] * (5 - rank)]
    box = [*box, *[1] * (5 - rank)]
    element_strides = [*element_strides, *[1] * (5 - len(element_strides))]
    high = sum((stride >> 36) << 4 * i for i, stride in enumerate(strides))
    packed = sum((stride - 1) << 3 * i for i, stride in enumerate(element_strides))
    words = [flags, *[stride >> 4 & 0xFFFFFFFF for stride in strides], high]
    words += [extent - 1 for extent in extents]
    words += [packed | (box[0] - 1) << 24, sum((size - 1) << 8 * i for i, size in enumerate(box[1:]))]
    return struct.pack("<Q13I", address, *words).ljust(128, b"\0")


@pytest.fixture
def encode_tensor_map() -> Callable[..., bytes]:
    """Encodes a tensor map independently of the simulator's decoder."""
    return _encode


_HEADER = """\
.version 8.8
.target {target}
.address_size 64
.visible .entry kernel({parameters})
{{
.reg .pred %p<16>;
.reg .b16 %h<16>;
.reg .b32 %r<300>;
.reg .b64 %rd<64>;
.reg .f32 %f<300>;
{body}
ret;
}}
"""


def _compose(body: str, arguments: Sequence[np.ndarray | bytes | int], target: str) -> str:
    kinds = {np.ndarray: ".u64 p{}", bytes: ".align 64 .b8 p{}[128]", int: ".u32 p{}"}
    parameters = [".param " + kinds[type(argument)].format(i) for i, argument in enumerate(arguments)]
    return _HEADER.format(target=target, parameters=", ".join(parameters), body=body)


@pytest.fixture
def compose() -> Callable[..., str]:
    """The text of the kernel that `simulate` runs for a body, its arguments and a target."""
    return _compose


@lru_cache(maxsize=64)
def _parsed(text: str) -> _native.Program:
    """The program of `text`, parsed once for all seeds."""
    return _native.Program(text)


def _parameter_block(arguments: Sequence[np.ndarray | bytes | int]) -> bytes:
    block = bytearray()
    for argument in arguments:
        value, alignment = {
            np.ndarray: lambda array: (struct.pack("<Q", array.ctypes.data), 8),
            bytes: lambda map_bytes: (map_bytes, 64),
            int: lambda number: (struct.pack("<I", number & 0xFFFFFFFF), 4),
        }[type(argument)](argument)
        block += bytes(-len(block) % alignment) + value
    return bytes(block)


@pytest.fixture
def simulate() -> Callable[..., dict[str, int]]:
    """Runs a kernel with this body; its parameters p0, p1, ... are addresses of arrays, tensor maps and integers.

    `map_targets` are the arrays that tensor maps address. Registers %p, %h, %r, %rd and %f are declared.
    """

    def run(body, *arguments, block=32, target="sm_100a", map_targets=(), cluster=1, grid=None, **options):
        arrays = [array for array in (*arguments, *map_targets) if isinstance(array, np.ndarray)]
        return _parsed(_compose(body, arguments, target)).run(
            "kernel",
            grid=(grid or cluster,),
            block=(block,),
            cluster=(cluster,),
            parameters=_parameter_block(arguments),
            ranges=[(array.ctypes.data, array.nbytes, array.flags.writeable) for array in arrays],
            **options,
        )

    return run


@pytest.fixture
def aligned() -> Callable[..., np.ndarray]:
    """Copies an array to an address that is a multiple of 128 bytes."""

    def copy(array: np.ndarray) -> np.ndarray:
        storage = np.zeros(array.nbytes + 128, np.uint8)
        start = -storage.ctypes.data % 128
        result = storage[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        result[...] = array
        return result

    return copy


_KINDS = {"pred": np.uint32, "f16": np.float16, "f32": np.float32, "f64": np.float64} | {
    f"{letter}{bits}": np.dtype(f"{numpy_letter}{bits // 8}").type
    for letter, numpy_letter in (("u", "u"), ("s", "i"), ("b", "u"))
    for bits in (8, 16, 32, 64)
}


def _bits_of(kind: str, value: float) -> int:
    if kind[0] in "usb":
        return int(value) & (1 << int(kind[1:])) - 1
    return int.from_bytes(_KINDS[kind](value).tobytes(), "little")


def _evaluation(instruction: str, result: str, sources: Sequence[tuple[str, float]]) -> str:
    lines = [f".reg .{'pred' if result == 'pred' else 'b' + result[1:]} d;"]
    for name, (kind, value) in zip("abce", sources, strict=False):
        if kind == "pred":
            lines += [f".reg .pred {name};", f"setp.ne.u32 {name}, {int(value)}, 0;"]
        else:
            lines += [f".reg .b{kind[1:]} {name};", f"mov.b{kind[1:]} {name}, {_bits_of(kind, value):#x};"]
    lines += [instruction + ";", "ld.param.u64 %rd1, [p0];"]
    if result == "pred":
        lines.append("selp.u32 %r1, 1, 0, d; st.global.u32 [%rd1], %r1;")
    else:
        lines.append(f"st.global.b{result[1:]} [%rd1], d;")
    return "\n".join(lines)


@pytest.fixture
def evaluate(simulate: Callable[..., dict[str, int]]) -> Callable[..., np.generic]:
    """The value of register d after one instruction on registers a, b, c and e, which all 32 lanes execute alike.

    A source is (PTX type, value). Registers have the width of their type, and type .b.
    """

    def run(instruction: str, result: str, *sources: tuple[str, float]) -> np.generic:
        out = np.zeros(1, _KINDS[result])
        simulate(_evaluation(instruction, result, sources), out)
        return out[0]

    return run


@pytest.fixture
def over_lanes(simulate: Callable[..., dict[str, int]]) -> Callable[..., np.ndarray]:
    """The value of %r1 in each thread after `body`; %r0 is %tid.x, and p1, p2, ... are further arguments."""

    def run(body: str, *arguments: np.ndarray | bytes | int, block: int = 32, **options: object) -> np.ndarray:
        out = np.zeros(block * options.get("cluster", 1), np.uint32)
        store = """
        mov.u32 %r0, %tid.x; mov.u32 %r299, %ctaid.x; mov.u32 %r298, %ntid.x; mad.lo.u32 %r299, %r299, %r298, %r0;
        ld.param.u64 %rd0, [p0]; mul.wide.u32 %rd63, %r299, 4; add.u64 %rd0, %rd0, %rd63; st.global.u32 [%rd0], %r1;"""
        simulate("mov.u32 %r0, %tid.x;\n" + body + store, out, *arguments, block=block, **options)
        return out

    return run


@pytest.fixture
def program() -> Callable[..., dict[str, int]]:
    """Runs a body as `simulate` does, in a block of up to three dimensions."""

    def run(body: str, block: Sequence[int], *arguments: np.ndarray | bytes | int, **options: object) -> dict[str, int]:
        ranges = [(a.ctypes.data, a.nbytes, True) for a in arguments if isinstance(a, np.ndarray)]
        return _parsed(_compose(body, arguments, "sm_100a")).run(
            "kernel", (1,), block, parameters=_parameter_block(arguments), ranges=ranges, **options
        )

    return run
