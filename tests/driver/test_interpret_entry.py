"""`tilec.run(..., backend="interpret")` runs any entry of a module; accepted and rejected arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilec
from tilec.errors import InputError, SimulationError, UsageError

STORES = """cuda_tile.module @m {{
  entry @first(%p: tile<ptr<{0}>>, %x: tile<{0}>) {{
    %k = store_ptr_tko weak %p, %x : tile<ptr<{0}>>, tile<{0}> -> token
    return
  }}
  entry @second() {{ return }}
}}"""


def interpret(element: str, *arguments: Any, entry: str = "first", **settings: Any) -> None:
    module = tilec.Module.parse(STORES.format(element))
    tilec.run(module, 1, arguments, entry=entry, backend="interpret", **settings)


@pytest.mark.parametrize(
    ("element", "number", "stored"),
    [
        ("i8", -128, 128), ("i8", 255, 255), ("i32", 3_000_000_000, 3_000_000_000), ("i64", -1, 2**64 - 1),
        ("i1", True, 1), ("f32", 1.5, 0x3FC00000), ("f16", np.float64(1.5), 0x3E00), ("f8E5M2", 1.75, 0x3F),
        ("fnv8E5M3FNU", 1.125, 0x79), ("tf32", 1.5, 0x3FC00000),
    ],
)  # fmt: skip
def test_scalar_of_each_element_type(element: str, number: Any, stored: int) -> None:
    result = np.zeros(1, np.uint64)
    interpret(element, result.ctypes.data, number)
    assert result[0] == stored


@pytest.mark.parametrize(
    ("element", "arguments", "message"),
    [
        ("i8", [0, 256], "argument 'arg1' needs an i8, got 256"),
        ("i8", [0, -129], "argument 'arg1' needs an i8, got -129"),
        ("i8", [0, 1.0], "argument 'arg1' needs an integer, got 1.0"),
        ("i1", [0, 1], "argument 'arg1' needs a bool, got 1"),
        ("f32", [0, "x"], "argument 'arg1' needs a number, got 'x'"),
        ("f32", [0, 1 + 2j], r"argument 'arg1' needs a number, got \(1\+2j\)"),
        ("f32", [None, 1.0], "argument 'arg0' needs an array or an address, got NoneType"),
        ("f32", [np.zeros(1), 1.0], "argument 'arg0' needs elements of f32, got f64"),
        ("f32", [-4, 1.0], "parameter 0 needs a value of ptr<f32>, got -4"),
        ("f32", [2**64, 1.0], "parameter 0 needs a value of ptr<f32>, got 18446744073709551616"),
        ("f32", [0], r"the kernel needs 2 arguments \(arg0, arg1\), got 1 arguments"),
        ("f32", [0, 1.0, 2], r"the kernel needs 2 arguments \(arg0, arg1\), got 3 arguments"),
    ],
)
def test_invalid_arguments_are_errors(element: str, arguments: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        interpret(element, *arguments)


def test_entry_must_be_selected_if_there_are_several() -> None:
    interpret("f32", entry="second")
    with pytest.raises(UsageError, match="the module has 2 entries: select one of first, second"):
        interpret("f32", 0, 1.0, entry=None)
    with pytest.raises(UsageError, match=r"the module has no entry 'third' \(entries: first, second\)"):
        interpret("f32", entry="third")


COPY = """cuda_tile.module @m {{
  entry @copy(%p: tile<ptr<{0}>>, %q: tile<ptr<{0}>>) {{
    %zero = constant <i32: 0> : tile<i32>
    %tp = make_tensor_view %p, shape = [4], strides = [1] : tensor_view<4x{0}, strides=[1]>
    %tq = make_tensor_view %q, shape = [4], strides = [1] : tensor_view<4x{0}, strides=[1]>
    %vp = make_partition_view %tp : partition_view<tile=(4), tensor_view<4x{0}, strides=[1]>>
    %vq = make_partition_view %tq : partition_view<tile=(4), tensor_view<4x{0}, strides=[1]>>
    %x, %t = load_view_tko weak %vp[%zero] : partition_view<tile=(4), tensor_view<4x{0}, strides=[1]>>, tile<i32>
      -> tile<4x{0}>, token
    %k = store_view_tko weak %x, %vq[%zero] : tile<4x{0}>, partition_view<tile=(4), tensor_view<4x{0}, strides=[1]>>,
      tile<i32> -> token
    return
  }}
}}"""


@pytest.mark.parametrize(
    ("element", "dtype", "extent"),
    [("f4E2M1FN", np.uint8, 2), ("fnv8E5M3FNU", np.uint8, 4), ("i64", np.uint64, 4), ("tf32", np.float32, 4)],
)
def test_elements_without_a_numpy_type_are_passed_as_bytes(element: str, dtype: Any, extent: int) -> None:
    source, result = np.arange(1, 1 + extent).astype(dtype), np.zeros(extent, dtype)
    tilec.run(tilec.Module.parse(COPY.format(element)), 1, [source, result], backend="interpret")
    assert np.array_equal(source, result)


# %p points to an address, to which the kernel stores.
INDIRECT = """cuda_tile.module @m {
  entry @indirect(%p: tile<ptr<i64>>) {
    %a, %t = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
    %q = int_to_ptr %a : tile<i64> -> tile<ptr<f32>>
    %x = constant <f32: 2.5> : tile<f32>
    %k = store_ptr_tko weak %q, %x : tile<ptr<f32>>, tile<f32> -> token
    return
  }
}"""


def test_addresses_in_memory_may_refer_to_arrays_of_the_setting_memory() -> None:
    result = np.zeros(1, np.float32)
    table = np.array([result.ctypes.data])
    module = tilec.Module.parse(INDIRECT)
    with pytest.raises(SimulationError, match="is outside all arrays of the launch"):
        tilec.run(module, 1, [table], backend="interpret")
    tilec.run(module, 1, [table], backend="interpret", memory=[result])
    assert result[0] == 2.5
    with pytest.raises(SimulationError, match="is outside all arrays of the launch"):
        tilec.run(module, 1, [table], backend="interpret", memory=[np.zeros(1)])
    with pytest.raises(InputError, match=r"argument 'memory\[0\]' needs an array"):
        tilec.run(module, 1, [table], backend="interpret", memory=[3])
