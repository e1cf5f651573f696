"""The rules of copies through tensor maps, with their tests.

docs/tensor_maps.md shows these rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CopyRule:
    """A rule of the instructions: its section of the PTX ISA, a part of the message, and the test of both sides."""

    rule: str
    section: str
    message: str
    test: str


COPY_RULES = (
    CopyRule(
        "im2col::w needs sm_100",
        "9.7.9.27.1",
        "'.im2col::w of a copy to .shared::cta' does not exist on target sm_90a, only on sm_100",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col::w::128 needs sm_100a",
        "9.7.9.27.1",
        "'.im2col::w::128 of a copy to .shared::cta' does not exist on target sm_120a, only on sm_100a",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "tile::gather4 to .shared::cluster needs sm_100a",
        "9.7.9.27.1",
        "'.tile::gather4 of a copy to .shared::cluster' does not exist on target sm_100, only on sm_100a",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "tile::scatter4 needs sm_100a",
        "9.7.9.27.1",
        "'.tile::scatter4 of a store' does not exist on target sm_90a, only on sm_100a",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "reductions have no tile::scatter4",
        "9.7.9.27.1",
        "a mode of a reduction, got .tile::scatter4",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "stores of pixels have no offsets: im2col_no_offs",
        "9.7.9.27.1",
        "a mode of a store, got .im2col",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col copies have 3 to 5 dimensions",
        "9.7.9.27.1",
        "expected .3d to .5d with .im2col, got .2d",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "im2col loads have one offset per dimension of an image",
        "9.7.9.27.1",
        "a vector of 2 offsets as operand 3",
        "ptxsim/tma/test_access_modes.py::test_form_that_ptxas_refuses",
    ),
    CopyRule(
        "the mode of a copy of pixels is the kind of its map",
        "5.5.2",
        "a tensor map of kind",
        "ptxsim/im2col/test_im2col_map.py::test_mode_and_kind_agree",
    ),
    CopyRule(
        "copies without a mode, or with .tile, need a map of kind tiled",
        "5.5.2",
        "a tensor map of kind tiled with .tile, got",
        "ptxsim/im2col/test_im2col_map.py::test_tiled_copies_need_a_tiled_map",
    ),
    CopyRule(
        "the rank of a copy is that of its map",
        "9.7.9.27.1.2",
        "a tensor map of rank 3, got rank 4",
        "ptxsim/im2col/test_im2col_map.py::test_rank_of_the_instruction",
    ),
    CopyRule(
        "stores of pixels go through maps of kind im2col",
        "9.7.9.27.1.2",
        "kind im2col with .im2col_no_offs, got",
        "ptxsim/im2col/test_im2col_map.py::test_stores_need_a_map_of_kind_im2col",
    ),
    CopyRule(
        "the first pixel is inside the bounding box",
        "5.5.4.1",
        "in the bounding box without offsets, -1 to 2, got -2",
        "ptxsim/im2col/test_im2col.py::test_base_is_inside_the_bounding_box",
    ),
    CopyRule(
        "offsets have 8 bits for rank 4, and 5 for rank 5",
        "5.5.4.1",
        "im2col offset W of 0 to 255 for a map of kind im2col and rank 4, got 256",
        "ptxsim/im2col/test_im2col.py::test_limits_of_offsets",
    ),
    CopyRule(
        "wHalo is 0 to 511 for im2col::w, and 0 to 31 for im2col::w::128",
        "5.5.5.3",
        "wHalo of 0 to 511 for a map of kind im2col_w and rank 4, got 512",
        "ptxsim/im2col/test_im2col_w.py::test_limits_of_halo_and_offset",
    ),
    CopyRule(
        "wOffset is 0 to 31",
        "5.5.5.4",
        "wOffset of 0 to 31 for a map of kind im2col_w and rank 4, got 32",
        "ptxsim/im2col/test_im2col_w.py::test_limits_of_halo_and_offset",
    ),
    CopyRule(
        "the first pixel of im2col::w is inside the bounding box or left of it",
        "5.5.5.1",
        "of at most 6, the end of the bounding box, got 7",
        "ptxsim/im2col/test_im2col_w.py::test_first_pixel_is_not_right_of_the_box",
    ),
    CopyRule(
        "stores of pixels have lower corners of at least 0",
        "9.7.9.27",
        "lower corner W of at least 0 in a store, got -1",
        "ptxsim/im2col/test_im2col_store.py::test_store_stays_inside_the_tensor",
    ),
    CopyRule(
        "stores of pixels have upper corners of at most 0",
        "9.7.9.27",
        "upper corner W of at most 0 in a store, got 1",
        "ptxsim/im2col/test_im2col_store.py::test_store_stays_inside_the_tensor",
    ),
    CopyRule(
        "a tensormap.replace of the box needs a map of kind tiled",
        "9.7.9.28",
        "a tiled tensor map in the replacement of a box extent, got",
        "ptxsim/im2col/test_im2col_map.py::test_im2col_map_has_no_box_to_replace",
    ),
    CopyRule(
        "gather4 starts at a multiple of 16 bytes",
        "5.5.3.4",
        "expected the column of gather4 at a multiple of 16 bytes, got 8",
        "ptxsim/tma/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "gather4 and scatter4 have a box of one row",
        "5.5.3.4",
        "expected a box of one row for gather4 and scatter4, got 2",
        "ptxsim/tma/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "stores start at coordinates of at least 0",
        "9.7.9.27",
        "expected coordinates of at least 0 in a tensor store, got -8 in dimension 0",
        "ptxsim/tma/test_tma_rows.py::test_invalid_copy_is_reported",
    ),
    CopyRule(
        "copies of padded types start at a multiple of 128 elements",
        "9.7.9.27.1.1",
        "coordinate 0 that is a multiple of",
        "ptxsim/tma/test_tma_packed.py::test_first_coordinate_of_packed_types",
    ),
    CopyRule(
        "b4x16_p64 has no store",
        "9.7.9.27.1.1",
        "an element type that stores support, got b4x16_p64",
        "ptxsim/tma/test_tma_packed.py::test_b4x16_p64_has_no_store",
    ),
    CopyRule(
        "packed types have no reduction",
        "9.7.9.27.1.1",
        "an element type that the reduction supports, got",
        "ptxsim/tma/test_tma_packed.py::test_packed_types_have_no_reduction",
    ),
    CopyRule(
        "copies have a shared address that is a multiple of 128 bytes",
        "CUDA C++ Programming Guide",
        "needs a shared address aligned to 128 bytes",
        "ptxsim/tma/test_tma_values.py::test_alignment_of_shared_memory",
    ),
    CopyRule(
        "the image is inside the shared memory of its CTA",
        "5.2",
        "bytes is outside the shared memory",
        "ptxsim/tma/test_tma_bounds.py::test_largest_box",
    ),
    CopyRule(
        "an operand in .shared::cta is in the shared memory of the issuing CTA",
        "9.7.9.25",
        "expected an address in .shared::cta, the shared memory of CTA rank 0, got that of rank 1",
        "ptxsim/tma/test_tma_spaces.py::test_address_of_another_cta",
    ),
    CopyRule(
        "the mbarrier of a load with .cta_group::2 is in the CTA of the destination or of its pair",
        "9.7.9.27.1.2",
        "of its pair, rank",
        "ptxsim/tma/test_tma_pairs.py::test_mbarrier_outside_the_pair",
    ),
    CopyRule(
        "mbarriers are aligned to 8 bytes",
        "9.7.13.15.1",
        "aligned to 8 bytes",
        "ptxsim/tma/test_tma_values.py::test_alignment_of_the_mbarrier",
    ),
    CopyRule(
        "each reduction has its element types",
        "9.7.9.27.1.3",
        "an element type that the reduction supports, got",
        "ptxsim/tma/test_tma_values.py::test_reduction_by_element_type",
    ),
    CopyRule(
        "swizzles with a flip of 8 bytes have no store",
        "5.5.7",
        "a swizzle that stores support, got",
        "ptxsim/tma/test_tma_swizzles.py::test_flip_has_no_store",
    ),
    CopyRule(
        "swizzle 96B needs sm_103a, and atoms of other sizes than 16 bytes need sm_100",
        "9.7.9.28",
        "expected target",
        "ptxsim/tma/test_tma_swizzles.py::test_targets_of_swizzles",
    ),
)
