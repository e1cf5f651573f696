"""The memory plan: offsets, sizes and uses of regions as text, JSON and picture; the regions that an error names."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import memory_kernels
import pytest

import tilec as ct
from tilec.errors import UnsupportedError
from tilec.explain.memory import KernelMemory, kernel_memories

TILES = "rows=128, columns=256, depth=64"
SIGNATURE = f"A: f16[?,?], B: f16[?,?], C: f16[?,?%8], {TILES}"


def memory(target: str) -> KernelMemory:
    compiled = ct.compile(memory_kernels.two_products, signature=SIGNATURE, target=target, stop="gpu")
    (found,) = kernel_memories(compiled.stage("gpu").value, target)
    return found


def test_the_loops_use_one_ring_at_different_times():
    """Slots of 48 KB (16 KB of A, 32 KB of B); a staging buffer of 16 KB; two accumulators of 256 columns."""
    assert memory("sm_100a").text().splitlines() == [
        "two_products on sm_100a: 213,080 of 232,448 bytes of shared memory, 512 of 512 columns of tensor memory",
        "memory    start    size  line 1111111222",
        "                              2345689012",
        "tensor        0     256       #####.....  one slot, mma to threads, 128x256xf32",
        "shared        0  196608       .###..###.  4 slots, tma to mma, 128x64xf16 and 64x256xf16",
        "shared   196608   16384       ....#....#  staging of stores, 128x64xf16",
        "tensor      256     256       .....#####  one slot, mma to threads, 128x256xf32",
    ]


def test_regions_do_not_overlap():
    for target in ("sm_100a", "sm_90a"):
        found = memory(target)
        for kind in ("shared", "tensor"):
            regions = sorted(
                (use.region.start, use.region.start + use.region.size)
                for use in found.regions
                if use.region.memory == kind
            )
            assert all(end <= start for (_, end), (start, _) in itertools.pairwise(regions))


def test_json_has_the_same_regions():
    found = memory("sm_90a")
    fields = found.fields()
    assert fields["shared_bytes"] == found.shared_bytes[0]
    assert [region["size"] for region in fields["regions"]] == [4 * 48 * 1024, 16 * 1024]
    assert [len(region["uses"]) for region in fields["regions"]] == [2, 2]


def test_the_picture_has_a_box_for_each_use():
    root = ElementTree.fromstring(memory("sm_90a").svg())
    frame, *boxes = root.iter("{http://www.w3.org/2000/svg}rect")
    assert frame.get("fill") == "none"
    end = float(frame.get("x")) + float(frame.get("width"))
    inside = [box for box in boxes if float(box.get("x")) < end]
    # Two regions with two uses each, and beside the chart the color of each region.
    assert (len(inside), len(boxes)) == (4, 6)


def test_labels_of_the_picture_do_not_overlap():
    """Each label has a line of its own beside the chart, also at regions that are thinner than a line."""
    root = ElementTree.fromstring(memory("sm_90a").svg())
    frame = next(root.iter("{http://www.w3.org/2000/svg}rect"))
    end = float(frame.get("x")) + float(frame.get("width"))
    texts = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if float(text.get("x")) > end]
    heights = sorted(float(text.get("y")) for text in texts)
    assert len(texts) == 2
    assert all(low + 11 <= high for low, high in zip(heights, heights[1:], strict=False))


def test_the_command_writes_a_picture(tmp_path: Path, capsys: Any):
    from tilec.commands.command_line import main

    picture, kernel = tmp_path / "memory.svg", f"{memory_kernels.__file__}:two_products"
    main(["compile", kernel, "--sig", SIGNATURE, "--emit", "gpu", "--explain", "memory", "--svg", str(picture)])
    assert "4 slots, tma to mma, 128x64xf16 and 64x256xf16" in capsys.readouterr().err
    assert picture.read_text().startswith("<svg ")


def test_an_error_names_the_largest_regions_at_their_lines():
    signature = "A: f16[?,?], B: f16[?,?], D: f16[?,?], E: f32[?,?%4], rows=128, columns=256, depth=256"
    with pytest.raises(UnsupportedError, match="needs 344120 bytes of shared memory, sm_100a has 232448") as caught:
        ct.compile(memory_kernels.too_large, signature=signature, target="sm_100a", stop="gpu")
    assert [(note.message, note.location.line) for note in caught.value.notes] == [
        ("196608 bytes: one slot, tma to mma, 128x256xf16 and 256x256xf16", 29),
        ("131072 bytes: one slot, tma to mma, 256x256xf16", 30),
        ("16384 bytes: staging of stores, 128x32xf32", 33),
    ]


def test_a_picture_needs_the_report(capsys: Any):
    from tilec.commands.command_line import main

    kernel = f"{memory_kernels.__file__}:two_products"
    assert main(["compile", kernel, "--sig", SIGNATURE, "--svg", "memory.svg"]) == 2
    assert "add --explain memory" in capsys.readouterr().err
