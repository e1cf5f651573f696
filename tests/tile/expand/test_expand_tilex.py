"""The pass expand-tilex preserves results: views of any rank, window, strides, paddings, modes and types."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from im2col_accesses import NUMPY, Case, random_case

import tilec
from tilec.dialect.cuda_tile.element import NUMBERS
from tilec.element_types import element_type
from tilec.lowering.target import TARGETS
from tilec.lowering.tile.passes import DEFAULT, run
from tilec.runtime.interpret.evaluate import evaluate
from tilec.text_input.module import Module

SEEDS = range(60)


def images_of(case: Case) -> np.ndarray:
    """Elements that differ from their neighbours, none of them zero."""
    return (np.arange(case.allocated) % 113 + 1).astype(NUMPY[case.element])


def expanded(text: str, *passes: str) -> Module:
    module = Module.parse(text)
    run(module.ir, ("expand-tilex", *passes), evaluate=evaluate)
    module.verify()
    assert "tilex" not in module.to_text()
    return module


def interpreted(module: Module, grid: tuple[int, ...], arguments: list[object]) -> None:
    tilec.run(module, grid, arguments, backend="interpret", check=True)


def both_loads(case: Case) -> list[np.ndarray]:
    """What the kernel of loads stores, before and after the pass."""
    text, results = case.loads(), []
    for module in (Module.parse(text), expanded(text)):
        tiles = max(1, case.grid[0] * case.grid[2]) * case.grid[1]
        result = np.full(tiles * case.tile[0] * case.tile[1], 99, NUMPY[case.element])
        interpreted(module, case.grid, [images_of(case), *case.parameters, result])
        results.append(result)
    return results


# The others have no tile; test_shapes has them.
WITH_TILES = [seed for seed in SEEDS if 0 not in random_case(seed).grid]


@pytest.mark.parametrize("seed", WITH_TILES)
def test_loads(seed: int) -> None:
    case = random_case(seed)
    np.testing.assert_array_equal(*both_loads(case), err_msg=str(case))


@pytest.mark.parametrize(("lower", "upper"), [(2**31 - 1, 2**31 - 1), (2**31 - 1, -(2**31)), (-4, 2**31 - 1)])
def test_widest_paddings(lower: int, upper: int) -> None:
    """Positions in padding of nearly 2^31 elements on each side are outside of the image."""
    case = replace(SMALL, bounded=True, lower=(1, lower), upper=(1, upper), stride=(1, 2**29 - 1), extents=(2, 3, 9, 4))
    case = replace(case, strides=(108, 36, 4, 1))
    assert 0 not in case.grid
    np.testing.assert_array_equal(*both_loads(case), err_msg=str(case))


@pytest.mark.parametrize("seed", WITH_TILES)
def test_stores(seed: int) -> None:
    case = random_case(seed)
    chosen = random.Random(seed)
    text = case.stores(tuple(chosen.randrange(taps) for taps in case.window))
    tiles = np.arange(case.grid[0] * case.grid[1] * case.tile[0] * case.tile[1])
    results = []
    for module in (Module.parse(text), expanded(text)):
        images = np.zeros(case.allocated, NUMPY[case.element])
        matrix = (tiles % 113 + 1).astype(images.dtype)
        interpreted(module, (*case.grid[:2], 1), [images, *case.parameters, matrix])
        results.append(images)
    np.testing.assert_array_equal(*results, err_msg=str(case))


@pytest.mark.parametrize("seed", SEEDS)
def test_shapes(seed: int) -> None:
    """Also of windows that are larger than the padded input."""
    case = random_case(seed)
    text = case.shapes()
    for module in (Module.parse(text), expanded(text), expanded(text, "simplify")):
        found = np.full(2 + len(case.window), -1, np.int64)
        interpreted(module, (1, 1, 1), [np.zeros(case.allocated, NUMPY[case.element]), *case.parameters, found])
        assert found.tolist() == [*case.grid[:2], *case.outputs], case


@pytest.mark.parametrize("element", [name for name in NUMBERS if name not in ("f8E8M0FNU", "f4E2M1FN")])
def test_element_types(element: str) -> None:
    """All types that an im2col view takes, as bytes."""
    case = replace(SMALL, element=element)
    size = math.ceil(element_type(element).storage_bits / 8)
    images = (np.arange(case.allocated * size) % (2 if element == "i1" else 120)).astype(np.uint8)
    results = []
    for module in (Module.parse(case.loads()), expanded(case.loads())):
        results.append(np.full(math.prod((*case.grid, *case.tile)) * size, 99, np.uint8))
        arguments = [images.ctypes.data, *case.parameters, results[-1].ctypes.data]
        interpreted(module, case.grid, arguments)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", [1, 6, 11, 16, 17, 34])
def test_expanded_loads_compile_for_both_targets(seed: int, target: str) -> None:
    """PTX in the simulator reads the same elements as the view in the interpreter."""
    case = random_case(seed)
    results = []
    for module, settings in (
        (Module.parse(case.loads()), {"backend": "interpret", "check": True}),
        (expanded(case.loads()), {"backend": "simulate", "target": target}),
    ):
        tiles = max(1, case.grid[0] * case.grid[2]) * case.grid[1]
        result = np.full(tiles * case.tile[0] * case.tile[1], 99, NUMPY[case.element])
        tilec.run(module, case.grid, [images_of(case), *case.parameters, result], **settings)
        results.append(result)
    np.testing.assert_array_equal(*results, err_msg=str(case))


# Two images of 3 x 3 pixels of 4 channels.
SMALL = Case(
    extents=(2, 3, 3, 4),
    strides=(36, 12, 4, 1),
    tile=(8, 4),
    window=(3, 3),
    dilation=(1, 1),
    stride=(1, 1),
    lower=(1, 1),
    upper=(1, 1),
    dynamic_extents=(True,) * 4,
    dynamic_strides=(True, True, True, False),
)


EMPTY = {
    "no images": replace(SMALL, extents=(0, 3, 3, 4)),
    "no rows": replace(SMALL, extents=(2, 0, 3, 4)),
    "no columns": replace(SMALL, extents=(2, 3, 0, 4)),
    "no channels": replace(SMALL, extents=(2, 3, 3, 0)),
    "window larger than the image": replace(SMALL, dilation=(1, 3)),
    "all elements left out": replace(SMALL, window=(1, 1), lower=(0, -2), upper=(0, -2)),
    "rows without tiles": replace(SMALL, extents=(0, 3, 3, 4), mode="w"),
}


@pytest.mark.parametrize("target", ["interpret", *TARGETS])
@pytest.mark.parametrize("name", EMPTY)
def test_load_without_pixels_is_zero(name: str, target: str) -> None:
    """A kernel may be launched although the index space is empty, and nothing divides by zero."""
    case = EMPTY[name]
    assert 0 in case.grid
    result = np.full(case.tile[0] * case.tile[1], 99, np.float32)
    # An index of no channels is undefined also in Tile IR.
    check = case.extents[-1] > 0
    interpret = target == "interpret"
    settings = {"backend": "interpret", "check": check} if interpret else {"backend": "simulate", "target": target}
    module = expanded(case.loads())
    tilec.run(module, (1, 1, 1), [np.ones(72, np.float32), *case.parameters, result], **settings)
    assert not result.any()


def test_extents_and_strides_that_are_constants() -> None:
    """An operand may be a constant, also of a tensor without images."""
    text = (
        SMALL.loads()
        .replace("%a0: tile<i32>, ", "")
        .replace("%t = make", "%a0 = constant <i32: 0> : tile<i32> %t = make")
    )
    result = np.full(27 * 32, 99, np.float32)
    arguments = [np.ones(72, np.float32), *SMALL.parameters[1:], result]
    tilec.run(expanded(text), (1, 1, 1), arguments, backend="interpret")
    assert not result[:32].any()


def test_assumption_about_a_stride_of_one_image() -> None:
    """The stride of a dimension of extent 1 may be anything, whatever is assumed about it."""
    case = replace(SMALL, extents=(1, 3, 3, 4), strides=(7, 12, 4, 1))
    assumed = "%a4d = assume div_by<4>, %a4 : tile<i32> %a5d = assume div_by<4>, %a5 : tile<i32> %t = make"
    text = case.loads().replace("%t = make", assumed).replace("[%a4, %a5,", "[%a4d, %a5d,")
    assert "strides=[4,1]" in expanded(text).to_text()
    results = []
    for module in (Module.parse(text), expanded(text)):
        results.append(np.full(2 * 9 * 32, 99, np.float32))
        interpreted(module, case.grid, [images_of(case), *case.parameters, results[-1]])
    np.testing.assert_array_equal(*results)


# A row of pixels of 3 bytes in each image.
LINE = Case(
    extents=(1, 8, 3),
    strides=(24, 3, 1),
    tile=(8, 4),
    window=(3,),
    dilation=(1,),
    stride=(1,),
    lower=(1,),
    upper=(1,),
    element="i8",
    dynamic_extents=(False, True, False),
    dynamic_strides=(True, False, False),
    extent_type="i64",
    index_type="i64",
)
# Elements, pixels that overlap in memory, and columns up to the greatest i32.
ELEMENTS = replace(LINE, extents=(6, 1 << 28, 3), strides=(3 << 28, 3, 1))
PIXELS = replace(LINE, extents=(1 << 17, 1 << 16, 3), strides=(3, 3, 1))
COLUMNS = replace(LINE, extents=(2, 2**31 - 1, 1), strides=(2**31 - 1, 1, 1))
ARRAYS = {"extent_type": "i32", "index_type": "i32", "bounded": True}
LARGE = {
    "elements": ELEMENTS,
    "pixels": PIXELS,
    "columns": COLUMNS,
    "elements of an array": replace(ELEMENTS, **ARRAYS),
    "pixels of an array": replace(PIXELS, **ARRAYS, dynamic_extents=(True,) * 3),
    "columns of an array": replace(COLUMNS, **ARRAYS),
    "columns by a wide index": replace(COLUMNS, **{**ARRAYS, "index_type": "i64"}),
    "columns of an array in mode w": replace(COLUMNS, **ARRAYS, mode="w"),
}
# Whether positions have 32 bits although there are more elements or pixels: the tap of the last pixel may be that far.
FAR = replace(LINE, **ARRAYS, extents=(1, 9, 3))
POSITIONS = {
    "array": (replace(FAR, dynamic_strides=(True,) * 3), True),
    "extents that are not signed": (replace(FAR, bounded=False), False),
    "window that ends after 2^31": (replace(FAR, window=(1,), lower=(0,), upper=(2,)), False),
    "window that ends at 2^31": (replace(FAR, window=(3,), lower=(0,), upper=(2,)), True),
    "taps beyond 2^32": (replace(FAR, dilation=(2**31 - 1,), window=(4,)), False),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_width_of_positions(name: str) -> None:
    case, is_narrow = POSITIONS[name]
    inside = [line for line in expanded(case.loads()).to_text().splitlines() if " cmpi less_than" in line]
    assert inside and any(f": tile<{case.tile[0]}xi32>" in line for line in inside) == is_narrow, inside


@pytest.mark.parametrize("name", LARGE)
def test_more_than_two_to_the_32(name: str) -> None:
    """The last tile; of the 4.5 GiB of the images, only the pages that are read exist."""
    case = LARGE[name]
    images = np.zeros(case.allocated, np.int8)
    images[-15:] = np.arange(1, 16)
    last = f"%last = constant <i32: {case.grid[0] - 1}> : tile<i32> %x = addi %first, %last : tile<i32>"
    block = "%x, %y, %z = get_tile_block_id : tile<i32>"
    text = case.loads().replace(block, f"{block.replace('%x', '%first')} {last}")
    # It is stored as the first tile of the result.
    text = text.replace("[%row, %y]", "[%first, %y]")
    results = []
    for module in (Module.parse(text), expanded(text)):
        results.append(np.full(case.tile[0] * case.tile[1], 99, np.int8))
        interpreted(module, (1, 1, 1), [images, *case.parameters, results[-1]])
    np.testing.assert_array_equal(*results)
    # The tap before the last pixel.
    assert results[0].max() == 15 - case.extents[-1]


def incremented() -> np.ndarray:
    """What the kernel ORDERED loads last: it adds 7 to all pixels of an image but the first 4."""
    images = np.arange(256, dtype=np.float32).reshape(2, 16, 8)
    images[:, 4:] += 7
    return images.reshape(32, 8).T


def test_accesses_stay_ordered() -> None:
    """A store, then a load of the same memory through another view: the interpreter reports accesses without order."""
    for passes in (DEFAULT, ("expand-tilex", *DEFAULT), ("prune-tokens", "expand-tilex", "prune-tokens")):
        module = Module.parse(ORDERED)
        run(module.ir, passes, evaluate=evaluate)
        module.verify()
        memory, found = np.arange(256, dtype=np.float32), np.zeros((8, 32), np.float32)
        interpreted(module, (1, 1, 1), [memory, found])
        np.testing.assert_array_equal(found, incremented())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(4))
def test_accesses_of_other_threads_stay_ordered(seed: int, target: str) -> None:
    """The threads that load the matrix wait for those that store through the im2col view."""
    memory, found = np.arange(256, dtype=np.float32), np.zeros((8, 32), np.float32)
    tilec.run(Module.parse(ORDERED), (1, 1, 1), [memory, found], backend="simulate", target=target, seed=seed)
    np.testing.assert_array_equal(found, incremented())


ORDERED = """
!T = tensor_view<2x16x8xf32, strides=[128,8,1]>
!V = tilex.im2col_view<tile=(32x8), window=[1], dilation=[1], stride=[1], lower=[-4], upper=[4], !T>
!M = tensor_view<32x8xf32, strides=[8,1]>
!W = partition_view<tile=(8x32), !M, dim_map=[1, 0]>
!O = tensor_view<8x32xf32, strides=[32,1]>
!P = partition_view<tile=(8x32), !O>
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %zero = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [2, 16, 8], strides = [128, 8, 1] : !T
  %v = tilex.make_im2col_view %t : !V
  %m = make_tensor_view %p, shape = [32, 8], strides = [8, 1] : !M
  %w = make_partition_view %m : !W
  %o = make_tensor_view %q, shape = [8, 32], strides = [32, 1] : !O
  %r = make_partition_view %o : !P
  %seven = constant <f32: 7.0> : tile<32x8xf32>
  %x, %loaded = tilex.load_im2col_tko weak %v[%zero, %zero] offset [%zero] : !V, tile<i32> -> tile<32x8xf32>, token
  %sum = addf %x, %seven : tile<32x8xf32>
  %stored = tilex.store_im2col_tko weak %sum, %v[%zero, %zero] offset [%zero] token = %loaded
    : tile<32x8xf32>, !V, tile<i32> -> token
  %both = join_tokens %loaded, %stored : token
  %y, %read = load_view_tko weak %w[%zero, %zero] token = %both : !W, tile<i32> -> tile<8x32xf32>, token
  %end = store_view_tko weak %y, %r[%zero, %zero] : tile<8x32xf32>, !P, tile<i32> -> token
  return
} }
"""
