"""docs/tensor_core.md equals the text of tensor_core_page.py, which compiles its kernels and refuses missing tests."""

from __future__ import annotations

import pytest
from tensor_core_drawings import shifted
from tensor_core_forms import FORMS
from tensor_core_page import PAGE, excerpt, page, source
from tensor_core_rows import CONVOLUTION, SHAPES, TENSOR_MEMORY


def test_page_equals_the_generated_text() -> None:
    assert PAGE.read_text() == page()


def test_each_part_and_each_row_has_a_test() -> None:
    parts = (*TENSOR_MEMORY, *CONVOLUTION, *SHAPES)
    assert [part.title for part in parts if not (part.tests or part.rows)] == []
    assert [row.cells for part in parts for row in part.rows if not row.tests] == []
    assert [form for form, *_, tests in FORMS if not tests] == []


def test_excerpt_of_instructions() -> None:
    """Guards and comments are left out, registers numbered from 1, and equal instructions shown once."""
    ptx = """
    .loc 1 2 3
    L1:  // load_view
    @%p4 tcgen05.mma.cta_group::1 [%r7], %rd9, %rd9, %r8, {%r9, %r10, %r11,
        %r12, %r13, %r14}, %p4;
    @!%p5 tcgen05.mma.cta_group::1 [%r17], %rd2, %rd2, %r1, {%r9, %r10, %r11, %r12, %r13, %r14}, %p6;
    add.u32 %r1, %r2, 3;
    """
    assert excerpt(ptx, ["tcgen05.mma"]) == [
        "tcgen05.mma.cta_group::1 [%r1], %rd1, %rd1, %r2, {%r3, .., %r4}, %p1;",
    ]
    with pytest.raises(LookupError, match="no instruction begins with tcgen05.cp"):
        excerpt(ptx, ["tcgen05.mma", "tcgen05.cp"])


def test_kernel_that_does_not_exist() -> None:
    assert source("product").startswith("@ct.kernel\ndef product(")
    with pytest.raises(LookupError, match="tensor_core_kernels.py has no kernel 'produkt'"):
        source("produkt")


def test_the_last_lane_of_each_32_stays() -> None:
    assert [lane for lane in range(128) if shifted(lane) == lane] == [31, 63, 95, 127]
    assert shifted(0) == 1
