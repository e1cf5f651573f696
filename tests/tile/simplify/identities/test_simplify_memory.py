"""The pass simplify removes masks that are constants."""

from __future__ import annotations

import numpy as np
import pytest
from checked_rewrites import COUNT, kernel, simplified, stored

from tilec.text_input.module import Module

MASK = f"tile<{COUNT}xi1>"


class TestMasks:
    def kernel(self, mask: str, padding: str = "") -> str:
        loads = f"%v, %tv = load_ptr_tko weak %a3, %m{padding} : tile<{COUNT}xptr<i32>>, {MASK}"
        types = f", tile<{COUNT}xi32>" if padding else ""
        body = f"%m = constant <i1: {mask}> : {MASK} {loads}{types} -> T, token %r = addi %v, %y : T"
        return kernel(body, "i32", "i32")

    def test_true_mask_is_removed_with_its_padding(self) -> None:
        module = simplified(self.kernel("true", ", %y"))
        assert "i1" not in module.to_text()

    def test_load_with_a_false_mask_is_its_padding(self) -> None:
        text = self.kernel("false", ", %y")
        module = simplified(text)
        assert module.to_text().count("load_ptr_tko") == Module.parse(text).to_text().count("load_ptr_tko") - 1
        np.testing.assert_array_equal(stored(module, "i32", "i32"), stored(Module.parse(text), "i32", "i32"))

    def test_load_with_a_false_mask_without_padding_is_kept(self) -> None:
        text = self.kernel("false")
        assert simplified(text).to_text().count("load_ptr_tko") == Module.parse(text).to_text().count("load_ptr_tko")

    @pytest.mark.parametrize(("mask", "remaining"), [("true", "weak %2, %lhs : "), ("false", None)])
    def test_stores(self, mask: str, remaining: str | None) -> None:
        text = f"""cuda_tile.module @m {{ entry @k(%p: tile<4xptr<i32>>, %v: tile<4xi32>) {{
          %m = constant <i1: {mask}> : tile<4xi1>
          %t = store_ptr_tko weak %p, %v, %m : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> token
          %u = store_ptr_tko weak %p, %v token = %t : tile<4xptr<i32>>, tile<4xi32> -> token }} }}"""
        text = text.replace("%p: tile<4xptr<i32>>, %v: tile<4xi32>", "%q: tile<ptr<i32>>, %w: tile<i32>").replace(
            "%m = ",
            "%q1 = reshape %q : tile<ptr<i32>> -> tile<1xptr<i32>> %p = broadcast %q1 : tile<1xptr<i32>> ->"
            " tile<4xptr<i32>> %w1 = reshape %w : tile<i32> -> tile<1xi32> %v = broadcast %w1 : tile<1xi32> ->"
            " tile<4xi32> %m = ",
        )
        assert simplified(text).to_text().count("store_ptr_tko") == (2 if remaining else 1)
        assert "tile<4xi1>" not in simplified(text).to_text()
