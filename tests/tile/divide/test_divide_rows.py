"""divide_rows: each CTA computes its rows of all multiplies; what needs rows of other CTAs is left whole."""

from __future__ import annotations

import pytest

from tilec.dialect.walk import operations_named
from tilec.lowering.tile.divide.divide_rows import divide_columns, divide_rows
from tilec.lowering.tile.divide.divided_dimensions import NotDivisibleError
from tilec.text_input.module import Module

HEAD = """
cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f16>>, %q: tile<ptr<f32>>, %n: tile<i32>, %factors: tile<ptr<f8E8M0FNU>>) {
    %a_of = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %c_of = make_tensor_view %q, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %av = make_partition_view %a_of : partition_view<tile=(256x64), tensor_view<?x?xf16, strides=[?,1]>>
    %bv = make_partition_view %a_of : partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[?,1]>>
    %cv = make_partition_view %c_of : partition_view<tile=(256x128), tensor_view<?x?xf32, strides=[?,1]>>
    %a, %ta = load_view_tko weak %av[%n, %n] : partition_view<tile=(256x64), tensor_view<?x?xf16, strides=[?,1]>>,
      tile<i32> -> tile<256x64xf16>, token
    %b, %tb = load_view_tko weak %bv[%n, %n] : partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[?,1]>>,
      tile<i32> -> tile<64x128xf16>, token
    %zero = constant <f32: 0.0> : tile<256x128xf32>
    %d = mmaf %a, %b, %zero : tile<256x64xf16>, tile<64x128xf16>, tile<256x128xf32>
"""
STORE = """
    %t = store_view_tko weak %d, %cv[%n, %n] : tile<256x128xf32>,
      partition_view<tile=(256x128), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
"""


def divided(body: str, ctas: int = 2, least_rows: int = 64) -> str:
    module = Module.parse(f"{HEAD}{body}    return\n  }}\n}}\n")
    with module.ir.context:
        (entry,) = operations_named(module.ir, ("cuda_tile.entry",))
        divide_rows(entry, ctas, least_rows)
        assert module.ir.operation.verify()
    return module.to_text()


def test_rows_of_the_operands_and_of_the_result() -> None:
    text = divided(STORE)
    assert "%arg4: tile<i32>)" in text
    assert ": tile<128x64xf16>, tile<64x128xf16>, tile<128x128xf32>\n" in text
    assert "partition_view<tile=(128x64)" in text and "partition_view<tile=(64x128)" in text
    assert "partition_view<tile=(128x128), tensor_view<?x?xf32" in text


def test_index_counts_the_parts() -> None:
    """An index that may be large is limited first, so that the product stays outside of the tensor."""
    text = divided(STORE, ctas=4)
    assert "constant <i32: 536870912> : tile<i32>" in text and "constant <i32: 4> : tile<i32>" in text
    assert text.count("mini ") == text.count("muli ") == 2


def test_values_of_each_row() -> None:
    body = """
    %i = iota : tile<256xi32>
    %rows = reshape %i : tile<256xi32> -> tile<256x1xi32>
    %all = broadcast %rows : tile<256x1xi32> -> tile<256x128xi32>
    %f = itof %all signed rounding<nearest_even> : tile<256x128xi32> -> tile<256x128xf32>
    %s = addf %d, %f : tile<256x128xf32>
"""
    text = divided(body + STORE.replace("%d", "%s"))
    assert "iota : tile<128xi32>" in text and "tile<256x" not in text.replace("tile=(256x", "")


def test_parts_of_the_columns() -> None:
    body = """
    %i = constant <i32: 0> : tile<i32>
    %x = extract %d[%i, %i] : tile<256x128xf32> -> tile<256x64xf32>
    %s = cat %x, %x dim = 1 : tile<256x64xf32>, tile<256x64xf32> -> tile<256x128xf32>
"""
    text = divided(body + STORE.replace("%d", "%s"))
    assert "tile<128x128xf32> -> tile<128x64xf32>" in text and "tile<256x" not in text.replace("tile=(256x", "")


def test_outer_part_of_the_rows() -> None:
    """The halves of 256 rows are those of 2 groups of 128; 4 CTAs would need halves of a group."""
    body = """
    %g = reshape %d : tile<256x128xf32> -> tile<2x128x128xf32>
    %x = permute %g [1, 0, 2] : tile<2x128x128xf32> -> tile<128x2x128xf32>
    %y = permute %x [1, 0, 2] : tile<128x2x128xf32> -> tile<2x128x128xf32>
    %s = reshape %y : tile<2x128x128xf32> -> tile<256x128xf32>
"""
    assert ": tile<1x128x128xf32> -> tile<128x1x128xf32>" in divided(body + STORE.replace("%d", "%s"))
    with pytest.raises(NotDivisibleError, match="it divides or joins what the blocks divide"):
        divided(body + STORE.replace("%d", "%s"), ctas=4)


SCALED = """
    %f8 = constant <f8E4M3FN: 1.0> : tile<256x128xf8E4M3FN>
    %w8 = constant <f8E4M3FN: 1.0> : tile<128x128xf8E4M3FN>
    %sv = make_tensor_view %factors, shape = [2, 1, 32, 16], strides = [512, 512, 16, 1]
      : tensor_view<2x1x32x16xf8E8M0FNU, strides=[512,512,16,1]>
    %st = make_partition_view %sv
      : partition_view<tile=(2x1x32x16), tensor_view<2x1x32x16xf8E8M0FNU, strides=[512,512,16,1]>>
    %s0, %ts = load_view_tko weak %st[%n, %n, %n, %n]
      : partition_view<tile=(2x1x32x16), tensor_view<2x1x32x16xf8E8M0FNU, strides=[512,512,16,1]>>,
      tile<i32> -> tile<2x1x32x16xf8E8M0FNU>, token
    %s1 = reshape %s0 : tile<2x1x32x16xf8E8M0FNU> -> tile<2x1x32x4x4xf8E8M0FNU>
    %s2 = permute %s1 [0, 3, 2, 1, 4] : tile<2x1x32x4x4xf8E8M0FNU> -> tile<2x4x32x1x4xf8E8M0FNU>
    %s3 = reshape %s2 : tile<2x4x32x1x4xf8E8M0FNU> -> tile<256x4xf8E8M0FNU>
    %s4 = constant <f8E8M0FNU: 1.0> : tile<4x128xf8E8M0FNU>
    %m = mmaf_scaled %f8, %w8, %d, %s3, %s4 : tile<256x128xf8E4M3FN>, tile<128x128xf8E4M3FN>, tile<256x128xf32>,
      tile<256x4xf8E8M0FNU>, tile<4x128xf8E8M0FNU>
"""


def test_scale_factors_of_the_rows() -> None:
    """Each CTA loads the blocks of factors of its rows; the factors of the right operand stay whole."""
    text = divided(SCALED + STORE.replace("%d", "%m"))
    assert "partition_view<tile=(1x1x32x16)" in text
    wanted = "tile<128x128xf8E4M3FN>, tile<128x128xf8E4M3FN>, tile<128x128xf32>, tile<128x4xf8E8M0FNU>"
    assert f"{wanted}, tile<4x128xf8E8M0FNU>" in " ".join(text.split())


def test_bytes_of_packed_elements() -> None:
    body = """
    %f = ftof %d : tile<256x128xf32> -> tile<256x128xf16>
    %x = reshape %f : tile<256x128xf16> -> tile<32768xf16>
    %y = pack %x : tile<32768xf16> -> tile<65536xi8>
    %z = unpack %y : tile<65536xi8> -> tile<32768xf16>
    %w = reshape %z : tile<32768xf16> -> tile<256x128xf16>
    %s = ftof %w : tile<256x128xf16> -> tile<256x128xf32>
"""
    assert "unpack %" in (text := divided(body + STORE.replace("%d", "%s"))) and "tile<32768xi8>" in text


STRIDED = "strided_view<tile=(256x128), traversal_strides=[256,128], tensor_view<?x?xf32, strides=[?,1]>>"
WHOLE = {
    "constants of each row": (
        f"""
    %k = constant <i32: {list(range(256))}> : tile<256xi32>
    %rows = reshape %k : tile<256xi32> -> tile<256x1xi32>
    %all = broadcast %rows : tile<256x1xi32> -> tile<256x128xi32>
    %f = itof %all signed rounding<nearest_even> : tile<256x128xi32> -> tile<256x128xf32>
    %s = addf %d, %f : tile<256x128xf32>
"""
        + STORE.replace("%d", "%s"),
        "a constant of different elements is divided",
    ),
    "strided view": (
        f"""
    %sv = make_strided_view %c_of : {STRIDED}
    %t = store_view_tko weak %d, %sv[%n, %n] : tile<256x128xf32>, {STRIDED}, tile<i32> -> token
""",
        "it accesses a divided tile through a view without adjacent tiles",
    ),
    "print": ('    %o = print_tko "%f", %d : tile<256x128xf32> -> token\n' + STORE, "'print_tko' needs whole tiles"),
    "sum with the transposed product": (
        """
    %w = constant <f16: 1.0> : tile<64x256xf16>
    %none = constant <f32: 0.0> : tile<256x256xf32>
    %e = mmaf %a, %w, %none : tile<256x64xf16>, tile<64x256xf16>, tile<256x256xf32>
    %x = permute %e [1, 0] : tile<256x256xf32> -> tile<256x256xf32>
    %s = addf %e, %x : tile<256x256xf32>
"""
        + STORE,
        "a tile would be divided along two dimensions",
    ),
    "sum of rows": (
        """
    %s = reduce %d dim=0 identities=[0.000000e+00 : f32] : tile<256x128xf32> -> tile<128xf32>
      (%x: tile<f32>, %y: tile<f32>) {
        %z = addf %x, %y : tile<f32>
        yield %z : tile<f32>
      }
"""
        + STORE,
        "a reduction along the rows of a multiply needs all of them",
    ),
    "transposed product": (
        """
    %h = ftof %d : tile<256x128xf32> -> tile<256x128xf16>
    %x = permute %h [1, 0] : tile<256x128xf16> -> tile<128x256xf16>
    %none = constant <f32: 0.0> : tile<256x256xf32>
    %e = mmaf %h, %x, %none : tile<256x128xf16>, tile<128x256xf16>, tile<256x256xf32>
"""
        + STORE,
        "the right operand of a multiply derives from the rows of another",
    ),
    "joined rows": (
        "    %x = permute %d [1, 0] : tile<256x128xf32> -> tile<128x256xf32>\n"
        "    %r = reshape %x : tile<128x256xf32> -> tile<32768xf32>\n" + STORE,
        "it divides or joins what the blocks divide",
    ),
    "part of the rows": (
        "    %i = constant <i32: 0> : tile<i32>\n"
        "    %r = extract %d[%i, %i] : tile<256x128xf32> -> tile<128x128xf32>\n" + STORE,
        "it divides or joins what the blocks divide",
    ),
    "store of other tiles": (
        STORE
        + """
    %o = store_view_tko weak %b, %bv[%n, %n] : tile<64x128xf16>,
      partition_view<tile=(64x128), tensor_view<?x?xf16, strides=[?,1]>>, tile<i32> -> token
""",
        "each block would repeat the access to memory",
    ),
    "release": (
        STORE.replace("weak", "release device"),
        "it synchronizes with other tile blocks",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_tile_block_stays_whole(name: str) -> None:
    body, reason = WHOLE[name]
    with pytest.raises(NotDivisibleError, match=reason):
        divided(body)


def test_few_rows_stay_whole() -> None:
    with pytest.raises(
        NotDivisibleError, match="each of 4 blocks needs at least 128 rows of each multiply, which has 256"
    ):
        divided(STORE, ctas=4, least_rows=128)


def test_entry_without_a_multiply_stays_whole() -> None:
    module = Module.parse("entry @k(%n: tile<i32>) { return }")
    with module.ir.context:
        (entry,) = operations_named(module.ir, ("cuda_tile.entry",))
        with pytest.raises(NotDivisibleError, match="it has no multiply whose rows can be divided"):
            divide_rows(entry, 2, 64)


ROWS = """
cuda_tile.module @kernels {
  entry @k(%p: tile<ptr<f32>>, %n: tile<i32>) {
    %x_of = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %v = make_partition_view %x_of : partition_view<tile=(2x4096), tensor_view<?x?xf32, strides=[?,1]>>
    %r = make_partition_view %x_of : partition_view<tile=(2x1), tensor_view<?x?xf32, strides=[?,1]>>
    %x, %t = load_view_tko weak %v[%n, %n] : partition_view<tile=(2x4096), tensor_view<?x?xf32, strides=[?,1]>>,
      tile<i32> -> tile<2x4096xf32>, token
    %s = reduce %x dim=1 identities=[0.000000e+00 : f32] : tile<2x4096xf32> -> tile<2xf32>
      (%a: tile<f32>, %b: tile<f32>) {
        %c = addf %a, %b : tile<f32>
        yield %c : tile<f32>
      }
    %w = reshape %s : tile<2xf32> -> tile<2x1xf32>
"""
STORE_OF_SUMS = """
    %u = store_view_tko weak %w, %r[%n, %n] : tile<2x1xf32>,
      partition_view<tile=(2x1), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
"""
STORE_OF_ROWS = """
    %e = store_view_tko weak %x, %v[%n, %n] : tile<2x4096xf32>,
      partition_view<tile=(2x4096), tensor_view<?x?xf32, strides=[?,1]>>, tile<i32> -> token
"""


def divided_long_rows(body: str, ctas: int) -> str:
    module = Module.parse(f"{ROWS}{body}    return\n  }}\n}}\n")
    with module.ir.context:
        (entry,) = operations_named(module.ir, ("cuda_tile.entry",))
        divide_columns(entry, ctas)
        assert module.ir.operation.verify()
    return module.to_text()


def test_elements_of_long_rows() -> None:
    text = divided_long_rows(STORE_OF_ROWS, 4)
    assert "tile<2x1024xf32> -> tile<2xf32>" in text and "tile<2x4096xf32>" not in text
    assert text.count("partition_view<tile=(2x1024)") >= 2
    assert "tilec.ctas = 4 : i32" in text


def test_whole_tile_is_stored_by_one_block() -> None:
    text = divided_long_rows(STORE_OF_SUMS, 2)
    assert text.index("cmpi equal %arg2") < text.index("if %") < text.index("store_view_tko") < text.index("else")


def test_short_rows_stay_whole() -> None:
    with pytest.raises(NotDivisibleError, match="no multiply, and no reduction of 512 elements per block, that can be"):
        divided_long_rows(STORE_OF_SUMS, 16)


def test_results_that_do_not_fit_in_the_exchange_stay_whole() -> None:
    body = """
    %k = constant <f32: 0.0> : tile<512x1024xf32>
    %m = reduce %k dim=1 identities=[0.000000e+00 : f32] : tile<512x1024xf32> -> tile<512xf32>
      (%a: tile<f32>, %b: tile<f32>) { yield %a : tile<f32> }
"""
    with pytest.raises(NotDivisibleError, match="the blocks exchange at most 256 results of a reduction"):
        divided_long_rows(body + STORE_OF_SUMS, 2)
