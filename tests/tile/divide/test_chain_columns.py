"""divide_rows along columns: each CTA has columns of the last multiply of a chain, and computes the others whole."""

from __future__ import annotations

import re

import pytest

from tilec.dialect.walk import operations_named
from tilec.lowering.tile.divide.divide_rows import divide_rows
from tilec.lowering.tile.divide.divided_dimensions import COLUMNS, NotDivisibleError
from tilec.text_input.module import Module

VIEW = "partition_view<tile=(64x256), tensor_view<?x?xf16, strides=[?,1]>>"
SUMS = "partition_view<tile=(64x256), tensor_view<?x?xf32, strides=[?,1]>>"
ROWS = "partition_view<tile=(64), tensor_view<?xf32, strides=[1]>>"
# s = q @ k^T, and o = f16(s) @ k: k is the right operand of both.
HEAD = f"""
cuda_tile.module @kernels {{
  entry @k(%p: tile<ptr<f16>>, %r: tile<ptr<f32>>, %n: tile<i32>) {{
    %of = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %out = make_tensor_view %r, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %sums = make_tensor_view %r, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
    %v = make_partition_view %of : {VIEW}
    %w = make_partition_view %out : {SUMS}
    %u = make_partition_view %sums : {ROWS}
    %zero = constant <f32: 0.0> : tile<64x256xf32>
"""
QUERIES = f"    %q, %tq = load_view_tko weak %v[%n, %n] : {VIEW}, tile<i32> -> tile<64x256xf16>, token\n"
SCORES = "    %c = constant <f32: 0.0> : tile<64x64xf32>\n"
KEYS = f"""
    %k, %tk = load_view_tko weak %v[%n, %n] : {VIEW}, tile<i32> -> tile<64x256xf16>, token
    %t = permute %k [1, 0] : tile<64x256xf16> -> tile<256x64xf16>
"""
CHAIN = """
    %s = mmaf %q, %t, %c : tile<64x256xf16>, tile<256x64xf16>, tile<64x64xf32>
    %l = ftof %s rounding<nearest_even> : tile<64x64xf32> -> tile<64x64xf16>
    %o = mmaf %l, %k, %zero : tile<64x64xf16>, tile<64x256xf16>, tile<64x256xf32>
"""
STORE = f"    %x = store_view_tko weak %o, %w[%n, %n] : tile<64x256xf32>, {SUMS}, tile<i32> -> token\n"
REDUCTION = f"""
    %m = reduce %s dim=1 identities=[0.0 : f32] : tile<64x64xf32> -> tile<64xf32> (%a: tile<f32>, %b: tile<f32>) {{
      %ab = addf %a, %b : tile<f32>
      yield %ab : tile<f32>
    }}
    %y = store_view_tko weak %m, %u[%n] : tile<64xf32>, {ROWS}, tile<i32> -> token
"""


def divided(body: str, ctas: int = 2) -> str:
    module = Module.parse(f"{HEAD}{body}    return\n  }}\n}}\n")
    with module.ir.context:
        (entry,) = operations_named(module.ir, ("cuda_tile.entry",))
        divide_rows(entry, ctas, 64, along=COLUMNS)
        assert module.ir.operation.verify()
    return module.to_text()


def test_own_part_of_the_depth_comes_first() -> None:
    """CTA n multiplies part n of q and k, which it needs for its columns, and then part n xor 1."""
    text = divided(QUERIES + SCORES + KEYS + CHAIN + STORE)
    depth, columns = "tile<64x128xf16>, tile<128x64xf16>, tile<64x64xf32>", "tile<64x64xf16>, tile<64x128xf16>"
    first, second, last = re.findall(r"(%\S+) = mmaf (%\S+), (%\S+), (%\S+) : (.*)", text)
    assert first[4] == second[4] == depth and last[4].startswith(columns)
    assert second[3] == first[0] and last[2] not in (first[2], second[2])
    (other,) = re.findall(r"(%\S+) = xori %arg3, ", text)
    # The last index of each load: of q and of k, both parts.
    last_terms = re.findall(r"(%\S+) = addi %\S+, (%\S+) : tile<i32>", text)
    added = dict(last_terms)
    indices = [added[index] for index in re.findall(r"load_view_tko weak %\S+\[%\S+, (%\S+)\]", text)]
    assert sorted(indices) == sorted(["%arg3", other] * 2)


def test_all_parts_of_four() -> None:
    text = divided(QUERIES + SCORES + KEYS + CHAIN + STORE, ctas=4)
    assert text.count("tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>") == 5 and text.count("xori") == 3


def test_one_cta_stores_what_all_compute() -> None:
    """Row sums of the first product are in all CTAs, and the one of rank 0 stores them."""
    text = divided(QUERIES + SCORES + KEYS + CHAIN + STORE + REDUCTION)
    assert re.search(r"cmpi equal %arg3, .*\n.*if .*\n.*store_view_tko weak %reduce", text)


def test_integers_have_parts_of_their_depth() -> None:
    body = (QUERIES + SCORES + KEYS + CHAIN).replace("f16", "i8").replace("f32: 0.0", "i32: 0").replace("f32", "i32")
    body = body.replace("mmaf", "mmai").replace("ftof %s rounding<nearest_even>", "trunci %s")
    body = re.sub(r"(mmai .*) :", r"\1 signed signed :", body)
    head = HEAD.replace("f16", "i8").replace("f32: 0.0", "i32: 0").replace("f32", "i32")
    module = Module.parse(f"{head}{body}    return\n  }}\n}}\n")
    with module.ir.context:
        (entry,) = operations_named(module.ir, ("cuda_tile.entry",))
        divide_rows(entry, 2, 64, along=COLUMNS)
        assert module.ir.operation.verify()
    assert module.to_text().count("tile<64x128xi8>, tile<128x64xi8>, tile<64x64xi32>") == 2


def test_rounded_sums_have_no_parts() -> None:
    """Sums of f16 are rounded after each multiply, so that parts of the depth change them."""
    scores = SCORES.replace("f32", "f16")
    body = (QUERIES + scores + KEYS + CHAIN).replace("64x64xf32", "64x64xf16")
    body = body.replace("%l = ftof %s rounding<nearest_even> : tile<64x64xf16> -> tile<64x64xf16>\n", "")
    with pytest.raises(NotDivisibleError, match="the sums of a multiply do not allow parts of its depth"):
        divided(body.replace("mmaf %l", "mmaf %s") + STORE)


def test_left_operand_without_parts() -> None:
    """Parts of an operand that a loop carries are not loads, which every CTA can repeat."""
    loop = """
    %one = constant <i32: 1> : tile<i32>
    %e = for %i in (%one to %n, step %one) : tile<i32> iter_values(%h = %q) -> (tile<64x256xf16>) {
      %g = addf %h, %h rounding<nearest_even> : tile<64x256xf16>
      continue %g : tile<64x256xf16>
    }
"""
    body = QUERIES + loop + SCORES + KEYS + CHAIN.replace("mmaf %q", "mmaf %e") + STORE
    with pytest.raises(NotDivisibleError, match="a part of the depth of a multiply is not computed from loads"):
        divided(body)


def test_order_of_a_repeated_load() -> None:
    """All CTAs load all parts of k, so that no store of one CTA may follow these loads by a token."""
    body = QUERIES + SCORES + KEYS + CHAIN + STORE.replace("[%n, %n]", "[%n, %n] token=%tk")
    with pytest.raises(NotDivisibleError, match="a token orders an access after one of several blocks"):
        divided(body)
