"""The forms of TMA's access modes: those that ptxas accepts by target, prefetches, multicasts and pairs of CTAs."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from im2col_copies import MODES, PixelMap, load_body, numbered, store_body
from swizzle_images import swizzled
from tensor_copies import multicast_load, prefetch

from tilec.runtime.ptxsim import _native as ptxsim

HEAD = """.version 9.0
.target {target}
.address_size 64
.visible .entry k()
{{
.reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<8>;
"""
TARGETS = ["sm_90a", "sm_90", "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_110a", "sm_120a"]
INFORMATION = {"im2col": "%h1 %h2 %h3", "im2col::w": "%h1 %h2", "im2col::w::128": "%h1 %h2"}
LOAD_MODES = ["tile", "tile::gather4", "tile::scatter4", *INFORMATION, "im2col_no_offs"]


def _operand(registers: list[str]) -> str:
    return "{" + ", ".join(registers) + "}"


def _coordinates(mode: str, rank: int) -> str:
    return _operand([f"%r{i}" for i in range(5 if "4" in mode else rank)])


def _information(mode: str, rank: int) -> str:
    registers = INFORMATION.get(mode, "").split()
    return ", " + _operand(registers[: max(1, rank - 2)] if mode == "im2col" else registers) if registers else ""


def loads() -> list[str]:
    spaces, groups = ("shared::cta", "shared::cluster"), ("", ".cta_group::1", ".cta_group::2")
    return [
        f"cp.async.bulk.tensor.{rank}d.{space}.global.{mode}.mbarrier::complete_tx::bytes{multicast}{group} "
        f"[%r6], [%rd1, {_coordinates(mode, rank)}], [%r7]{_information(mode, rank)}{', %h5' if multicast else ''};"
        for mode, rank, space, group, multicast in itertools.product(
            LOAD_MODES, range(1, 6), spaces, groups, ("", ".multicast::cluster")
        )
    ]


def prefetches() -> list[str]:
    return [
        f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.{mode} "
        f"[%rd1, {_coordinates(mode, rank)}]{_information(mode, rank)};"
        for mode, rank in itertools.product(LOAD_MODES, range(1, 6))
    ]


def stores() -> list[str]:
    return [
        f"cp.{copy}.{mode}.bulk_group [%rd1, {_coordinates(mode, rank)}], [%r6];"
        for mode, rank in itertools.product(LOAD_MODES, range(1, 6))
        for copy in (
            f"async.bulk.tensor.{rank}d.global.shared::cta",
            f"reduce.async.bulk.tensor.{rank}d.global.shared::cta.add",
        )
        # ptxas generates a store for this reduction.
        if not (mode == "tile::scatter4" and copy.startswith("reduce"))
    ]


INFORMATION_LINES = [
    f"cp.async.bulk.tensor.4d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes "
    f"[%r6], [%rd1, {{%r1, %r2, %r3, %r4}}], [%r7]{information};"
    for mode in INFORMATION
    for information in ("", ", %h1", ", {%h1}", ", {%h1, %h2}", ", {1, 255}", ", {%r1, %r2}", ", {%h1, %h2, %h3}")
]
FORMS = [*loads(), *prefetches(), *stores(), *INFORMATION_LINES]


def assemblers() -> list[Path]:
    """ptxas of the packages of NVIDIA and of the PATH."""
    spec = find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    found = [path for folder in folders or () for path in Path(folder).glob("*/bin/ptxas")]
    on_path = shutil.which("ptxas")
    return found + [Path(on_path)] * (on_path is not None)


def _accepts(line: str, target: str) -> bool:
    try:
        return not ptxsim.Program(HEAD.format(target=target) + line + "\nret;\n}\n").unsupported
    except ptxsim.PtxError:
        return False


@pytest.mark.peers
@pytest.mark.parametrize("target", TARGETS)
def test_ptxas_accepts_the_same_forms(target, tmp_path):
    """PTX ISA 5.5.2, 9.7.9.27.1.2 to 9.7.9.27.1.4: directions, dimensions, targets and operands of each mode."""
    source = tmp_path / "forms.ptx"
    source.write_text(HEAD.format(target=target) + "\n".join(FORMS) + "\nret;\n}\n")
    first = HEAD.count("\n") + 1
    for ptxas in assemblers():
        done = subprocess.run([ptxas, f"-arch={target}", source, "-o", "/dev/null"], capture_output=True, text=True)
        refused = {int(number) - first for number in re.findall(r"line (\d+); error", done.stderr)}
        assert refused and len(refused) < len(FORMS)
        assert [line for number, line in enumerate(FORMS) if _accepts(line, target) == (number in refused)] == []


BODIES = [
    ("sm_90a", load_body("im2col", (0, 0, 0, 0), (0, 0), 1024)),
    ("sm_100a", load_body("im2col_w", (0, 0, 0, 0), (0, 0), 1024)),
    ("sm_100a", load_body("im2col_w128", (0, 0, 0, 0), (0, 0), 1024)),
    ("sm_90a", store_body((0, 0, 0, 0), 1024)),
    ("sm_90a", store_body((0, 0, 0, 0), 1024, "add")),
]


@pytest.mark.peers
@pytest.mark.parametrize(("target", "body"), BODIES)
def test_ptxas_accepts_the_kernels(compose, target, body, tmp_path):
    """The kernels of test_im2col.py, test_im2col_w.py and test_im2col_store.py."""
    source = tmp_path / "kernel.ptx"
    source.write_text(compose(body, (bytes(128), np.zeros(1)), target))
    for ptxas in assemblers():
        done = subprocess.run([ptxas, f"-arch={target}", source, "-o", "/dev/null"], capture_output=True, text=True)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.peers
def test_ptxas_accepts_the_store_of_the_wide_kind(compose, tmp_path):
    """.im2col_no_offs::w needs PTX ISA 9.4 and sm_107a, which ptxas 13.5 of the package of NVIDIA has."""
    text = compose(store_body((0, 0, 0, 0), 1024, mode="im2col_no_offs::w"), (bytes(128), np.zeros(1)), "sm_107a")
    source = tmp_path / "kernel.ptx"
    source.write_text(text.replace(".version 8.8", ".version 9.4"))
    done = subprocess.run([assemblers()[0], "-arch=sm_107a", source, "-o", "/dev/null"], capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# A form, a target that lacks it, and the message.
ABSENT = [
    ("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w.mbarrier::complete_tx::bytes "
     "[%r6], [%rd1, {%r1, %r2, %r3, %r4}], [%r7], {%h1, %h2};", "sm_90a",
     "'.im2col::w of a copy to .shared::cta' does not exist on target sm_90a, only on sm_100"),
    ("cp.async.bulk.tensor.4d.shared::cta.global.im2col::w::128.mbarrier::complete_tx::bytes "
     "[%r6], [%rd1, {%r1, %r2, %r3, %r4}], [%r7], {%h1, %h2};", "sm_120a",
     "'.im2col::w::128 of a copy to .shared::cta' does not exist on target sm_120a, only on sm_100a"),
    ("cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes "
     "[%r6], [%rd1, {%r1, %r2, %r3, %r4, %r5}], [%r7];", "sm_100",
     "'.tile::gather4 of a copy to .shared::cluster' does not exist on target sm_100, only on sm_100a"),
    ("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col::w [%rd1, {%r1, %r2, %r3, %r4}], {%h1, %h2};", "sm_120a",
     "'.im2col::w of a prefetch' does not exist on target sm_120a, only on sm_100a"),
    ("cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {%r1, %r2, %r3, %r4, %r5}], [%r6];",
     "sm_90a", "'.tile::scatter4 of a store' does not exist on target sm_90a, only on sm_100a"),
    ("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile::scatter4.bulk_group "
     "[%rd1, {%r1, %r2, %r3, %r4, %r5}], [%r6];", "sm_100a", "a mode of a reduction, got .tile::scatter4"),
    ("cp.async.bulk.tensor.4d.global.shared::cta.im2col.bulk_group [%rd1, {%r1, %r2, %r3, %r4}], [%r6];", "sm_100a",
     "a mode of a store, got .im2col"),
    ("cp.async.bulk.tensor.3d.global.shared::cta.im2col_no_offs::w.bulk_group [%rd1, {%r1, %r2, %r3}], [%r6];",
     "sm_100a", "'.im2col_no_offs::w of a store' does not exist on target sm_100a, only on sm_107a"),
    ("cp.async.bulk.prefetch.tensor.2d.L2.global.im2col [%rd1, {%r1, %r2}], {%h1};", "sm_90a",
     "expected .3d to .5d with .im2col, got .2d"),
    ("cp.async.bulk.prefetch.tensor.3d.L2.global.tile::gather4 [%rd1, {%r1, %r2, %r3, %r4, %r5}];", "sm_100a",
     "expected .2d with .tile::gather4, got .3d"),
    ("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.cta_group::2 "
     "[%r6], [%rd1, {%r1, %r2}], [%r7];", "sm_90a", "'.cta_group::2' does not exist on target sm_90a"),
    ("cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
     "[%r6], [%rd1, {%r1, %r2}], [%r7], %h1;", "sm_90a",
     "a destination in .shared::cluster with .multicast::cluster, got .shared::cta"),
    ("cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes "
     "[%r6], [%rd1, {%r1, %r2, %r3, %r4}], [%r7];", "sm_90a", "a vector of 2 offsets as operand 3"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "target", "message"), ABSENT)
def test_form_that_ptxas_refuses(line, target, message):
    """PTX ISA 9.7.9.27.1.2 to 9.7.9.27.1.4: the error names the mode, the direction and a target that has it."""
    with pytest.raises(ptxsim.PtxError, match=re.escape(message)) as caught:
        ptxsim.Program(HEAD.format(target=target) + line + "\nret;\n}\n")
    assert caught.value.line == HEAD.count("\n") + 1


@pytest.fixture
def run_prefetch(simulate):
    """Runs a prefetch, which is legal if the message is empty."""

    def run(text: str, encoded: bytes, tensor: np.ndarray, message: str) -> None:
        if not message:
            simulate(text, encoded, tensor)
            return
        with pytest.raises(ptxsim.Trap, match=message) as trap:
            simulate(text, encoded, tensor)
        assert trap.value.kind == "illegal"

    return run


GATHERS = [((8, 3, -1, 2**31 - 1, 0), ""), ((4, 3, 0, 1, 2), "the column of gather4 at a multiple of 16 bytes, got 8")]


@pytest.mark.parametrize(("coordinates", "message"), GATHERS)
def test_prefetch_of_four_rows(run_prefetch, encode_tensor_map, aligned, coordinates, message):
    """PTX ISA 9.7.9.27.1.4 and 5.5.3.4: a prefetch of .tile::gather4 has the operands of a load."""
    tensor = aligned(numbered(4, 64))
    encoded = encode_tensor_map(tensor.ctypes.data, "u16", (64, 4), (128,), (64, 1))
    run_prefetch(prefetch(coordinates, "tile::gather4"), encoded, tensor, message)


# The map, the coordinates, the information, and what a prefetch reports; empty if it is legal.
ROW = {"lower": [-1], "upper": [-1], "channels": 64, "pixels": 4, "swizzle": "128B"}
PREFETCHES = [
    ("im2col", (0, -1, 0), (65535,), ""),
    ("im2col", (0, -2, 0), (0,), "coordinate 1 .W. in the bounding box without offsets, -1 to 7, got -2"),
    ("im2col_w", (0, -2, 0), (511, 31), ""),
    ("im2col_w", (0, 0, 0), (512, 0), "wHalo of 0 to 511"),
    ("im2col_w128", (0, 0, 0), (0, 32), "wOffset of 0 to 31"),
]


@pytest.mark.parametrize(("kind", "coordinates", "information", "message"), PREFETCHES)
def test_prefetch_checks_its_operands(
    run_prefetch, encode_tensor_map, aligned, kind, coordinates, information, message
):
    """PTX ISA 9.7.9.27.1.4: a prefetch has the map and the operands of a load, and moves nothing to shared memory."""
    tensor = aligned(numbered(2, 9, 64))
    encoded = PixelMap(kind, **ROW).encode(encode_tensor_map, tensor)
    run_prefetch(prefetch(coordinates, MODES[kind], information), encoded, tensor, message)


COPIES = {
    "im2col": ({"lower": [0], "upper": [-1], "pixels": 6}, (0, 0, 1), (0,)),
    "im2col_w": ({"lower": [0], "upper": [-1], "pixels": 4}, (0, 0, 1), ("%h1", 0)),
    "gather4": (None, (0, 4, 5, 6, 8), ()),
}
# Row n * 4 + w is pixel w of image n: the first three of images 1 and 2, or the rows of the gather.
ROWS = {"im2col": [4, 5, 6, 8, 9, 10], "im2col_w": [4, 5, 6, 8, 9, 10], "gather4": [4, 5, 6, 8]}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("group", ["", ".cta_group::1", ".cta_group::2"])
@pytest.mark.parametrize("kind", COPIES)
def test_multicast_to_two_ctas(simulate, encode_tensor_map, aligned, kind, group, seed):
    """PTX ISA 9.7.9.27.1.2: both CTAs get the image; with .cta_group::2 one mbarrier of the pair counts both copies."""
    fields, coordinates, information = COPIES[kind]
    tensor, rows = aligned(numbered(5, 4, 64)), ROWS[kind]
    if fields is None:
        encoded = encode_tensor_map(tensor.ctypes.data, "u16", (64, 20), (128,), (64, 1), swizzle="128B")
    else:
        encoded = PixelMap(kind, channels=64, swizzle="128B", **fields).encode(encode_tensor_map, tensor)
    images, size = aligned(np.zeros((2, len(rows), 64), np.uint16)), 128 * len(rows)
    mode = MODES.get(kind, "tile::gather4")
    text = multicast_load(coordinates, size, size, mode=mode, information=information, group=group)
    simulate("mov.b16 %h1, 2;" + text, encoded, images, block=8 * len(rows), cluster=2, map_targets=[tensor], seed=seed)
    for image in images:
        np.testing.assert_array_equal(swizzled(image, "128B").reshape(-1, 64), tensor.reshape(20, 64)[rows])
