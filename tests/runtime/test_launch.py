"""Launches with a driver that records its calls and runs vector additions in host memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

PRELUDE = """
import sys
import numpy as np
from dataclasses import replace
sys.path.insert(0, {here!r})
from test_simulate import VECTOR_ADD
from tilec.errors import TilecError
from tilec.runtime.launch.launch import launch

a = np.arange(200, dtype=np.float32)
b, c = 1000 * a, np.zeros_like(a)

class OnDevice:
    def __init__(self, array):
        self.array = array
        data = array.ctypes.data, False
        self.__cuda_array_interface__ = dict(version=3, data=data, shape=array.shape, typestr="<f4")

def on_device(*arrays):
    return [OnDevice(array) for array in arrays]

def changed(**fields):
    return replace(VECTOR_ADD, cubin=b"\\x7fELF", metadata=replace(VECTOR_ADD.metadata, **fields))
"""


@pytest.fixture
def recorded(recording_driver: Path):
    """The lines that the recording driver and a program, which follows PRELUDE, print."""

    def run(program: str, **settings: str) -> list[str]:
        command = [sys.executable, "-c", PRELUDE.format(here=str(HERE)) + program]
        environment = {**os.environ, "LD_LIBRARY_PATH": str(recording_driver), "PYTHONUNBUFFERED": "1", **settings}
        process = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert process.returncode == 0, process.stderr
        return process.stdout.splitlines()

    return run


def test_host_arrays_are_copied_to_the_device_and_back(recorded) -> None:
    lines = recorded("launch(VECTOR_ADD, 2, [a, b, c, 200]); print(np.array_equal(c, 1001 * a))")
    assert lines[:2] == ["load ELF", "function vector_add"]
    assert lines.count("to device 800") == lines.count("to host 800") == lines.count("free") == 3
    assert "launch grid 2,1,1 block 128,1,1 shared 0 stream (nil)" in lines
    assert lines.index("wait for stream (nil)") < lines.index("to host 800")
    assert lines[-1] == "True"


def test_read_only_arrays_are_not_copied_back(recorded) -> None:
    program = "a.flags.writeable = b.flags.writeable = False\nlaunch(VECTOR_ADD, 2, [a, b, c, 200])"
    assert recorded(program).count("to host 800") == 1


def test_overlapping_arrays_share_their_copy(recorded) -> None:
    program = "whole = np.arange(300, dtype=np.float32)\nlaunch(VECTOR_ADD, 1, [whole[:200], whole[100:], c, 200])"
    lines = recorded(program)
    assert lines.count("to device 1200") == 1
    assert lines.count("to device 800") == 1


def test_copies_have_the_alignment_of_the_host_arrays(recorded) -> None:
    program = """
buffer = np.zeros(1000, np.float32)
start = -buffer.ctypes.data // 4 % 64
launch(VECTOR_ADD, 1, [buffer[start + 4:][:8], buffer[start + 67:][:8], buffer[start + 128:][:8], 8])
"""
    assert "addresses modulo 256: 16 12 0" in recorded(program)


def test_device_arrays_are_used_in_place_without_waiting(recorded) -> None:
    lines = recorded(
        "launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200], stream=0x77); print(np.array_equal(c, 1001 * a))"
    )
    assert "launch grid 2,1,1 block 128,1,1 shared 0 stream 0x77" in lines
    assert not [line for line in lines if line.startswith(("allocate", "to ", "wait", "free"))]
    assert lines[-1] == "True"


LISTED = """
from tilec.runtime.arguments.arguments import ArrayArgument, ListArgument
from tilec.runtime.artifact.metadata import ValueParameter
element = ArrayArgument("xs[?]", "f32", (None,), (1,), 4)
parameters = (ValueParameter("u64", "xs"), ValueParameter("u32", "len(xs)"))
listed = changed(arguments=(ListArgument("xs", element),), parameters=parameters)
"""


def test_table_of_a_list_is_copied_and_freed_in_the_stream(recorded) -> None:
    program = "launch(listed, 1, [on_device(a, b)], stream=0x77)\nprint(f'{a.ctypes.data:x} {b.ctypes.data:x}')"
    lines = recorded(LISTED + program, RECORDED_PARAMETERS="8 4")
    first, second = lines[-1].split()
    copied = lines.index(f"words in stream 0x77: {first} c8 1 {second} c8 1")
    launched = next(index for index, line in enumerate(lines) if line.startswith("launch grid"))
    assert lines.index("allocate 48 in stream 0x77") < copied < launched < lines.index("free in stream 0x77")
    assert "parameter 1 02000000" in lines
    # Device arrays stay where they are, and the host does not wait.
    assert not [line for line in lines if line.startswith(("to ", "wait"))]


def test_table_of_host_arrays_has_the_addresses_of_their_copies(recorded) -> None:
    program = "launch(listed, 1, [[a, b, a]])\nprint(f'{a.ctypes.data:x}')"
    lines = recorded(LISTED + program, RECORDED_PARAMETERS="8 4")
    words = next(line for line in lines if line.startswith("words")).split()[4:]
    assert words[0] == words[6] != words[3] and lines[-1] not in words
    assert lines.count("to device 800") == lines.count("to host 800") == 2


def test_list_in_a_captured_stream_is_refused(recorded) -> None:
    program = "try: launch(listed, 1, [on_device(a, b)], stream=0x77)\nexcept TilecError as error: print(error.message)"
    lines = recorded(LISTED + program, RECORDED_PARAMETERS="8 4", RECORDED_CAPTURE="1")
    assert lines[-1].startswith("a list of arrays cannot be passed to a launch that a CUDA graph captures")
    assert not [line for line in lines if line.startswith("launch grid")]


def test_streams_of_other_libraries(recorded) -> None:
    program = """
class Torch: cuda_stream = 0x10
class Cupy: ptr = 0x20
class Standard:
    def __cuda_stream__(self): return 0, 0x30
for stream in (Torch(), Cupy(), Standard(), None):
    launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200], stream=stream)
"""
    streams = [line.rpartition(" ")[2] for line in recorded(program) if line.startswith("launch grid")]
    assert streams == ["0x10", "0x20", "0x30", "(nil)"]


def test_shared_memory_and_clusters_set_function_attributes(recorded) -> None:
    # cuda.h: MAX_DYNAMIC_SHARED_SIZE_BYTES is 8, NON_PORTABLE_CLUSTER_SIZE_ALLOWED 14, the cluster launch attribute 4.
    lines = recorded("launch(changed(cluster=(16, 1, 1), shared_bytes=70000), 16, [*on_device(a, b, c), 200])")
    assert "function attribute 8 = 70000" in lines and "function attribute 14 = 1" in lines
    assert "launch attribute 4 = 16,1,1" in lines
    assert "launch grid 16,1,1 block 128,1,1 shared 70000 stream (nil)" in lines


def test_small_clusters_need_no_attribute(recorded) -> None:
    lines = recorded("launch(changed(cluster=(2, 1, 1)), 2, [*on_device(a, b, c), 200])")
    assert "launch attribute 4 = 2,1,1" in lines
    assert not [line for line in lines if line.startswith("function attribute")]


def test_grid_may_count_clusters(recorded) -> None:
    metadata = "cluster=(2, 1, 1), grid_counts_clusters=True"
    lines = recorded(f"launch(changed({metadata}), (3, 2), [*on_device(a, b, c), 200])")
    assert "launch grid 6,2,1 block 128,1,1 shared 0 stream (nil)" in lines


def test_cluster_only_if_the_grid_is_divisible(recorded) -> None:
    metadata = "cluster=(2, 1, 1), cluster_if_divisible=True"
    lines = recorded(f"for grid in (4, 3): launch(changed({metadata}), grid, [*on_device(a, b, c), 200])")
    assert [line for line in lines if line.startswith("launch")] == [
        "launch grid 4,1,1 block 128,1,1 shared 0 stream (nil)",
        "launch attribute 4 = 2,1,1",
        "launch grid 3,1,1 block 128,1,1 shared 0 stream (nil)",
    ]


def test_kernel_is_loaded_once(recorded) -> None:
    lines = recorded("for _ in range(3): launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200])")
    assert (lines.count("load ELF"), len([line for line in lines if line.startswith("launch grid")])) == (1, 3)


ENCODE = """
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.tensor_maps.driver_tensor_map import encode_by_driver
tensor_map = TensorMap("bf16", (776, 1000), (1552,), (64, 128), (1, 2), 0x1000, "128B", "none", "nan", "256B")
for _ in range(64):
    encoded = encode_by_driver(tensor_map, CAPABILITY)
print(encoded.hex())
"""


def test_tensor_maps_are_encoded_by_the_driver_in_aligned_memory(recorded) -> None:
    # cuda.h: BFLOAT16 is 9, SWIZZLE_128B 3, L2_256B 3, NAN_REQUEST_ZERO_FMA 1. The recording driver refuses memory that
    # is not aligned to 128 bytes; about one in eight allocations of Python is aligned.
    lines = recorded(ENCODE.replace("CAPABILITY", "(9, 0)"))
    assert lines[-4:] == [
        "tensor map type 9 rank 2 address 0x1000 interleave 0 swizzle 3 promotion 3 fill 1",
        "dimension 0: extent 776 stride 0 box 64 step 1",
        "dimension 1: extent 1000 stride 1552 box 128 step 2",
        "7e" * 128,
    ]


IMAGES = """
from tilec.lowering.tma.tensor_map import TensorMap
from tilec.runtime.tensor_maps.driver_tensor_map import encode_by_driver
images = dict(element="f16", extents=(64, 32, 30, 9, 4), strides=(128, 4096, 122880, 1105920), box=(), swizzle="128B",
              element_strides=(1, 2, 3, 4, 1), base=0x1000, l2_promotion="64B", channels_per_pixel=64,
              pixels_per_column=100)
im2col = TensorMap(**images, kind="im2col", lower=(-1, -2, -3), upper=(4, 5, 6))
w = TensorMap(**images, kind="im2col_w", lower=(-7,), upper=(8,))
w128 = TensorMap(**images, kind="im2col_w128", lower=(-7,), upper=(8,))
"""
# cuda.h: FLOAT16 is 6, SWIZZLE_128B 3, L2_64B 1.
IMAGES_RECORD = [
    "type 6 rank 5 address 0x1000 interleave 0 swizzle 3 promotion 1 fill 0",
    "dimension 0: extent 64 stride 0 step 1",
    "dimension 1: extent 32 stride 128 step 2",
    "dimension 2: extent 30 stride 4096 step 3",
    "dimension 3: extent 9 stride 122880 step 4",
    "dimension 4: extent 4 stride 1105920 step 1",
    "7e" * 128,
]


@pytest.mark.parametrize(
    ("map", "symbol", "record"),
    [
        (
            "im2col",
            "cuTensorMapEncodeIm2col of 12000",
            [
                "im2col map channels 64 pixels 100",
                # W, H, D
                "corner 0: lower -1 upper 4",
                "corner 1: lower -2 upper 5",
                "corner 2: lower -3 upper 6",
            ],
        ),
        # CUtensorMapIm2ColWideMode: W is 0, W128 1.
        ("w", "cuTensorMapEncodeIm2colWide of 12080", ["wide map lower -7 upper 8 channels 64 pixels 100 mode 0"]),
        ("w128", "cuTensorMapEncodeIm2colWide of 12080", ["wide map lower -7 upper 8 channels 64 pixels 100 mode 1"]),
    ],
)
def test_im2col_maps_are_encoded_by_their_function(recorded, map: str, symbol: str, record: list[str]) -> None:
    lines = recorded(IMAGES + f"print(encode_by_driver({map}, (9, 0)).hex())", RECORDED_SYMBOLS="1")
    expected = [*record, *IMAGES_RECORD]
    assert lines[-len(expected) :] == expected
    function = symbol.partition(" ")[0]
    assert {line for line in lines if line.partition(" ")[0] == function} == {symbol}


PUBLIC = """
import tilec as ct
tensor = dict(element="f16", base=0x1000, extents=(64, 32, 4), strides=(128, 4096), swizzle="128B", backend="launch")
pixels = dict(channels_per_pixel=64, pixels_per_column=8)
"""


@pytest.mark.parametrize(
    ("call", "function"),
    [
        ("encode_tiled(**tensor, box=(64, 8, 1))", "tensor map type 6"),
        ("encode_im2col(**tensor, **pixels, lower=(0,), upper=(0,))", "im2col map channels 64 pixels 8"),
        ("encode_im2col_wide(**tensor, **pixels, lower=0, upper=0, mode='w')", "wide map lower 0"),
    ],
)
def test_public_functions_encode_by_the_driver(recorded, call: str, function: str) -> None:
    lines = recorded(PUBLIC + f"print(ct.tensor_map.{call}.hex())", RECORDED_MAJOR="10")
    assert [line for line in lines if line.startswith(function)]
    assert lines[-1] == "7e" * 10 + f"{0x7E & ~0x20:02x}" + "7e" * 117


@pytest.mark.parametrize(
    ("map", "function", "version"),
    [("im2col", "cuTensorMapEncodeIm2col", "12.0"), ("w", "cuTensorMapEncodeIm2colWide", "12.8")],
)
def test_missing_function_names_the_version_of_the_driver(recorded, map: str, function: str, version: str) -> None:
    program = f"""
try: encode_by_driver({map}, (10, 0))
except TilecError as error: print(error)
"""
    lines = recorded(IMAGES + program, RECORDED_WITHOUT=function)
    assert lines == [f"error: the CUDA driver has no {function}: install a driver of CUDA {version} or later"]


def test_refused_map_is_an_error_with_the_status(recorded) -> None:
    # The recording driver refuses address 0.
    program = """
from dataclasses import replace
try: encode_by_driver(replace(im2col, base=0), (9, 0))
except TilecError as error: print(error)
"""
    assert "the driver refuses a tensor map (CUDA_ERROR_INVALID_VALUE): TensorMap(" in recorded(IMAGES + program)[-1]


@pytest.mark.parametrize("map", ["im2col", "w", "w128"])
def test_bit_21_of_im2col_maps_for_blackwell_is_cleared(recorded, map: str) -> None:
    (line,) = recorded(IMAGES + f"print(encode_by_driver({map}, (10, 0)).hex())")[-1:]
    assert line == "7e" * 10 + f"{0x7E & ~0x20:02x}" + "7e" * 117


def test_bit_21_of_blackwell_maps_is_cleared(recorded) -> None:
    # Bit 21 of the second 64-bit word is bit 5 of byte 10.
    (line,) = recorded(ENCODE.replace("CAPABILITY", "(10, 0)"))[-1:]
    assert line == "7e" * 10 + f"{0x7E & ~0x20:02x}" + "7e" * 117


@pytest.mark.parametrize(("major", "byte"), [("9", 0x7E), ("10", 0x5E)])
def test_launch_encodes_tensor_maps_for_its_device(recorded, major: str, byte: int) -> None:
    program = f"""
from tilec.runtime.launch import launch as module
from tilec.runtime.devices.devices import devices
from tilec.lowering.tma.tensor_map import TensorMap
original = module.pack
def pack(metadata, binding, encode, padding, place):
    print("byte 10:", encode(TensorMap("f32", (4,), (), (4,), (1,), 0x1000))[10])
    return original(metadata, binding, encode, padding, place)
module.pack = pack
launch(changed(target="sm_{major}0a"), 2, [a, b, c, 200])
"""
    assert f"byte 10: {byte}" in recorded(program, RECORDED_MAJOR=major)


def test_parameters_are_in_aligned_memory(recorded) -> None:
    lines = recorded("for _ in range(32): launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200])")
    assert {line for line in lines if line.startswith("parameters")} == {"parameters modulo 128: 0"}


def test_launch_in_a_thread_without_a_context(recorded) -> None:
    program = """
import threading
thread = threading.Thread(target=lambda: launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200]))
thread.start(), thread.join()
print(np.array_equal(c, 1001 * a))
"""
    assert recorded(program)[-1] == "True"


def test_first_launch_in_a_captured_stream_loads_the_kernel(recorded) -> None:
    lines = recorded("launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200], stream=0x77)", RECORDED_CAPTURE="1")
    assert "load ELF" in lines and "launch grid 2,1,1 block 128,1,1 shared 0 stream 0x77" in lines


def test_launch_after_preload_does_not_load_the_kernel(recorded) -> None:
    program = """
import tilec
tilec.preload(VECTOR_ADD)
print("loaded")
launch(VECTOR_ADD, 2, [*on_device(a, b, c), 200])
"""
    lines = recorded(program)
    assert lines[: lines.index("loaded")] == ["load ELF", "function vector_add"]
    assert lines.count("load ELF") == 1


FRAMEWORKS = """
import types
torch = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(current_stream=lambda ordinal: types.SimpleNamespace(cuda_stream=0x50 + ordinal))
torch.Tensor = type("Tensor", (OnDevice,), {"__module__": "torch"})
cupy = types.ModuleType("cupy")
cupy.cuda = types.SimpleNamespace(get_current_stream=lambda ordinal: types.SimpleNamespace(ptr=0x60 + ordinal))
cupy.ndarray = type("ndarray", (OnDevice,), {"__module__": "cupy._core.core"})
sys.modules.update(torch=torch, cupy=cupy)
class Parameter(torch.Tensor): pass
"""


@pytest.mark.parametrize(
    ("arrays", "stream"),
    [
        ("torch.Tensor(a), torch.Tensor(b), torch.Tensor(c)", "0x50"),
        ("Parameter(a), OnDevice(b), OnDevice(c)", "0x50"),
        ("OnDevice(a), cupy.ndarray(b), OnDevice(c)", "0x60"),
        ("OnDevice(a), OnDevice(b), OnDevice(c)", "(nil)"),
    ],
)
def test_default_stream_is_the_current_stream_of_the_library_of_the_arrays(recorded, arrays: str, stream: str) -> None:
    lines = recorded(FRAMEWORKS + f"launch(VECTOR_ADD, 2, [{arrays}, 200])")
    assert f"launch grid 2,1,1 block 128,1,1 shared 0 stream {stream}" in lines


def test_different_current_streams_are_refused(recorded) -> None:
    arrays = "torch.Tensor(a), cupy.ndarray(b), OnDevice(c)"
    program = f"try: launch(VECTOR_ADD, 2, [{arrays}, 200])\nexcept TilecError as error: print(error)"
    assert recorded(FRAMEWORKS + program)[-1] == (
        "error: the current streams of the libraries of the arrays differ (torch: 0x50, cupy: 0x60): "
        "pass the stream of the launch"
    )


def test_empty_grid_launches_nothing(recorded) -> None:
    assert recorded("launch(VECTOR_ADD, (0, 1, 1), [*on_device(a, b, c), 200])") == []


@pytest.mark.parametrize(("fill", "byte"), [("zero", 0), ("nan", 255)])
def test_tensor_map_of_an_empty_array_has_padding_as_memory(recorded, fill: str, byte: int) -> None:
    program = f"""
from tilec.runtime.artifact.metadata import TensorMapParameter
from tilec.runtime.tensor_maps.expression import Parameter
from tilec.runtime.tensor_maps.tensor_map import Recipe
recipe = Recipe(Parameter(0), "f32", (Parameter(3), 8), (32,), (4, 8), (1, 1), fill="{fill}")
kernel = changed(parameters=(*VECTOR_ADD.metadata.parameters, TensorMapParameter(0)), tensor_maps=(recipe,))
for _ in range(2):
    launch(kernel, 1, [*on_device(a, b, c), 0], stream=0x77)
"""
    lines = recorded(program, RECORDED_CAPTURE="1")
    assert lines.count("allocate 128") == 1
    assert lines.count(f"set 128 bytes to {byte} in stream 0x77") == 2
    assert lines.count("dimension 0: extent 4 stride 0 box 4 step 1") == 2
    assert lines.count("dimension 1: extent 1 stride 128 box 8 step 1") == 2


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            "launch(changed(target='sm_100a'), 2, [a, b, c, 200])",
            "error: kernels of sm_100a need a GPU of that architecture, found recording driver (sm_90)",
        ),
        ("launch(changed(entry='missing'), 2, [a, b, c, 200])", "error: the CUDA driver reports CUDA_ERROR_NOT_FOUND"),
        (
            "launch(VECTOR_ADD, 2, [a, b, c, 200], stream='main')",
            "error: a stream must be a handle or an object with __cuda_stream__, got str",
        ),
    ],
)
def test_invalid_launches_are_refused(recorded, program: str, message: str) -> None:
    lines = recorded(f"try:\n    {program}\nexcept TilecError as error:\n    print(error)")
    assert lines[-1] == message


def test_failed_assertion_of_a_kernel_says_where_its_message_is(recorded) -> None:
    """CUDA driver API: CUDA_ERROR_ASSERT is 710, reported by the next call that waits for the kernel."""
    program = "try: launch(VECTOR_ADD, 2, [a, b, c, 200])\nexcept TilecError as error: print(error)"
    message = recorded(program, RECORDED_STATUS="710")[-1]
    assert "an assertion of a kernel failed (CUDA_ERROR_ASSERT): the driver writes its message" in message


def test_default_backend_of_device_arrays_is_launch(recorded) -> None:
    lines = recorded(
        "import tilec; tilec.run(VECTOR_ADD, 2, [*on_device(a, b, c), 200]); print(np.array_equal(c, 1001 * a))"
    )
    assert "launch grid 2,1,1 block 128,1,1 shared 0 stream (nil)" in lines
    assert lines[-1] == "True"
