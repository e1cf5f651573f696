"""Stores, reductions and loads of multicast views agree with numpy on one device, and ptxas accepts them."""

from __future__ import annotations

import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest
from compare import backends

import tilec
from tilec.errors import UnsupportedError

DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i32": np.int32,
    "i64": np.int64,
}
# The instructions of aligned rows: the widest vectors of floats, one element of other types.
ADDED = {
    "f16": "add.v4.f16x2",
    "bf16": "add.v4.bf16x2",
    "f32": "add.v4.f32",
    "f64": "add.f64",
    "i32": "add.u32",
    "i64": "add.u64",
}


def module_of(element: str, columns: int, index: str = "%one") -> str:
    """Stores a tile of 4x8 as tile (1, 0) of a multicast tensor, adds it once more, and loads the sums."""
    plain, shared = f"ptr<{element}>", f"ptr<{element}, #cuda_tile.ptr_attr<multicast>>"
    tensor = f"tensor_view<6x{columns}x{element}, strides=[8,1], #cuda_tile.ptr_attr<multicast>>"
    view = f"partition_view<tile=(4x8), padding_value = zero, {tensor}>"
    flat = f"tensor_view<4x8x{element}, strides=[8,1]>"
    whole, tile = f"partition_view<tile=(4x8), {flat}>", f"tile<4x8x{element}>"
    at, flags = f"[{index}, %zero]", "inbounds = [false, false]"
    return f"""entry @k(%p: tile<{plain}>, %m: tile<{shared}>, %q: tile<{plain}>, %n: tile<i32>) {{
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %a = assume div_by<16>, %m : tile<{shared}>
      %v = make_tensor_view %a, shape = [6, {columns}], strides = [8, 1] : {tensor}
      %w = make_partition_view %v : {view}
      %xv = make_tensor_view %p, shape = [4, 8], strides = [8, 1] : {flat}
      %xw = make_partition_view %xv : {whole}
      %zv = make_tensor_view %q, shape = [4, 8], strides = [8, 1] : {flat}
      %zw = make_partition_view %zv : {whole}
      %x, %t0 = load_view_tko weak %xw[%zero, %zero] : {whole}, tile<i32> -> {tile}, token
      %t1 = multimem_store_view_tko weak %w, %x{at} token = %t0 {flags} : {view}, {tile}, tile<i32> -> token
      %t2 = multimem_reduce_view_tko release device %w, %x{at} token = %t1 {flags} : {view}, {tile}, tile<i32> -> token
      %s, %t3 = multimem_load_reduce_view_tko acquire sys %w{at} token = %t2 {flags}
        : {view}, tile<i32> -> {tile}, token
      %t4 = store_view_tko weak %s, %zw[%zero, %zero] : {tile}, {whole}, tile<i32> -> token
      return
    }}"""


@pytest.mark.parametrize("element", DTYPES)
def test_sums_in_a_multicast_tensor(target, element, tmp_path):
    """The tile starts at row 4 of 6: two rows are stored, the others are padding."""
    compiled = tilec.compile(tilec.Module.parse(module_of(element, 8)), target=target, stop="ptx")
    assert f"multimem.red.release.gpu.global.{ADDED[element]} " in compiled.ptx
    assert f"multimem.ld_reduce.acquire.sys.global.{ADDED[element]} " in compiled.ptx
    x = np.random.default_rng(2).integers(-99, 99, (4, 8)).astype(DTYPES[element])
    twice, untouched = (x + x)[:2], np.full((4, 8), 7, DTYPES[element])
    for backend, settings in backends():
        m, z = np.concatenate([untouched, np.zeros((2, 8), x.dtype)]), np.zeros_like(x)
        tilec.run(compiled, (1,), [x, m, z, 0], backend=backend, **settings)
        assert np.array_equal(m, np.concatenate([untouched, twice]))
        assert np.array_equal(z, np.concatenate([twice, np.zeros_like(twice)]))
    if shutil.which("ptxas"):
        (tmp_path / "k.ptx").write_text(compiled.ptx)
        command = ["ptxas", f"-arch={target}", "k.ptx", "-o", "k.cubin"]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (process.returncode, process.stderr) == (0, "")


def test_single_elements_of_16_bits_are_refused(target):
    """The last pair of a row of 7 elements would lie half outside of the tensor."""
    with pytest.raises(UnsupportedError, match="accesses 2 elements of f16 at once, but") as raised:
        tilec.compile(tilec.Module.parse(module_of("f16", 7)), target=target, stop="ptx")
    assert raised.value.location is not None and raised.value.location.line == 12
