"""Tensor maps that a program modifies: fields of tensormap.replace, fences, and the memory of maps (PTX ISA 5.5.8)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from tensor_copies import load

from tilec.errors import TilecError
from tilec.runtime.ptxsim import _native as ptxsim

# PTX ISA 9.7.9.28: the codes of .elemtype, in order. They are not those of CUtensorMapDataType.
ELEMENTS = [
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz", "b4x16",
    "b4x16_p64", "b6x16_p32",
]  # fmt: skip
SWIZZLES = ["none", "32B", "64B", "128B", "96B"]
ATOMICITIES = ["128B", "128B_atom_32B", "128B_atom_32B_flip_8B", "128B_atom_64B"]
MAP = {"element": "u32", "extents": (8, 16, 4), "strides": (64, 1024), "box": (8, 4, 2), "swizzle": "none"}
ADDRESS = 0x1000


def replacement(field: str, value: int, ordinal: int | None = None) -> str:
    """Replaces a field of the map at p0, whose value comes from a register."""
    wide = field in ("global_address", "global_stride")
    bits, register = (64, "%rd5") if wide else (32, "%r5")
    place = "" if ordinal is None else f"{ordinal}, "
    return f"""
    ld.param.u64 %rd1, [p0];
    mov.b{bits} {register}, {value};
    tensormap.replace.tile.{field}.global.b1024.b{bits} [%rd1], {place}{register};
    """


@pytest.fixture
def replaced(simulate, aligned, encode_tensor_map):
    """The map after a replacement by one thread."""

    def run(text: str, target: str = "sm_100a", **fields: object) -> bytes:
        given = encode_tensor_map(ADDRESS, **{**MAP, **fields})
        memory = aligned(np.frombuffer(given, np.uint8))
        simulate(text, memory, block=1, target=target)
        return memory.tobytes()

    return run


FIELDS = [
    *[("elemtype", code, None, {"element": name}) for code, name in enumerate(ELEMENTS)],
    *[("swizzle_mode", code, None, {"swizzle": name}) for code, name in enumerate(SWIZZLES)],
    *[("interleave_layout", code, None, {"interleave": code}) for code in range(3)],
    *[("fill_mode", code, None, {"fill_nan": bool(code)}) for code in range(2)],
    *[("box_dim", 256, i, {"box": tuple(256 if i == k else MAP["box"][k] for k in range(3))}) for i in range(3)],
    *[("global_dim", 77, i, {"extents": tuple(77 if i == k else MAP["extents"][k] for k in range(3))}) for i in (0, 2)],
    ("global_stride", (1 << 40) - 16, 0, {"strides": ((1 << 40) - 16, 1024)}),
    ("global_stride", 48, 1, {"strides": (64, 48)}),
    *[("element_stride", 8, i, {"element_strides": tuple(8 if i == k else 1 for k in range(3))}) for i in range(3)],
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "ordinal", "fields"), FIELDS)
def test_each_field(replaced, encode_tensor_map, field, value, ordinal, fields):
    """9.7.9.28: a replaced map equals one that the host encodes with the value."""
    target = "sm_103a" if fields.get("swizzle") == "96B" else "sm_100a"
    assert replaced(replacement(field, value, ordinal), target) == encode_tensor_map(ADDRESS, **{**MAP, **fields})


@pytest.mark.parametrize("code", range(4))
def test_swizzle_mode_replaces_96b(replaced, encode_tensor_map, code):
    """9.7.9.28: swizzle 96B has a flag of its own, which the other modes clear."""
    expected = encode_tensor_map(ADDRESS, **{**MAP, "swizzle": SWIZZLES[code]})
    assert replaced(replacement("swizzle_mode", code), "sm_103a", swizzle="96B") == expected


@pytest.mark.parametrize("atomicity", range(4))
def test_swizzle_atomicity(replaced, encode_tensor_map, atomicity):
    text = replacement("swizzle_mode", 3) + replacement("swizzle_atomicity", atomicity)
    assert replaced(text) == encode_tensor_map(ADDRESS, **{**MAP, "swizzle": ATOMICITIES[atomicity]})


def test_global_address_and_rank(replaced, encode_tensor_map):
    """9.7.9.28: .rank counts from zero; it does not change the other fields."""
    assert replaced(replacement("global_address", 0x7FFF_1234_5670)) == encode_tensor_map(0x7FFF_1234_5670, **MAP)
    for code in range(5):
        word = struct.unpack_from("<I", replaced(replacement("rank", code)), 8)[0]
        assert word >> 4 & 7 == code


# (field, ordinal, the least value, the greatest, values beyond, the quantity of the message)
LIMITS = [
    ("rank", None, 0, 4, (5,), "a rank, counted from zero, of 0 to 4"),
    ("box_dim", 0, 1, 256, (0, 257), "a box extent of 1 to 256"),
    ("global_dim", 1, 1, 2**32 - 1, (0,), "a tensor extent of 1 to 4294967296"),
    ("global_stride", 0, 0, 2**40 - 16, (2**40,), "a stride in bytes of 0 to 1099511627775"),
    ("element_stride", 2, 1, 8, (0, 9), "an element stride of 1 to 8"),
    ("elemtype", None, 0, 15, (16,), "an element type code of 0 to 15"),
    ("interleave_layout", None, 0, 2, (3,), "an interleave code of 0 to 2"),
    ("swizzle_atomicity", None, 0, 3, (4,), "a swizzle atomicity code of 0 to 3"),
    ("fill_mode", None, 0, 1, (2,), "a fill code of 0 to 1"),
]


@pytest.mark.parametrize(("field", "ordinal", "least", "greatest", "beyond", "message"), LIMITS)
def test_limits_of_fields(replaced, field, ordinal, least, greatest, beyond, message):
    """9.7.9.28 and the CUDA driver API, on both sides of each limit."""
    for value in (least, greatest):
        replaced(replacement(field, value, ordinal))
    for value in beyond:
        with pytest.raises(ptxsim.Trap, match=f"expected {message}, got {value}") as trap:
            replaced(replacement(field, value, ordinal))
        assert trap.value.kind == "descriptor"


@pytest.mark.parametrize(
    ("field", "ordinals"), [("box_dim", 5), ("global_dim", 5), ("element_stride", 5), ("global_stride", 4)]
)
def test_ordinals_of_fields(replaced, field, ordinals):
    """9.7.9.28: the ordinal is a dimension; that of a stride is the dimension minus one."""
    value = 16 if field == "global_stride" else 1
    replaced(replacement(field, value, ordinals - 1))
    with pytest.raises(ptxsim.Trap, match=f"a dimension of 0 to {ordinals - 1}, got {ordinals}"):
        replaced(replacement(field, value, ordinals))


def test_strides_are_multiples_of_16_bytes(replaced):
    with pytest.raises(ptxsim.Trap, match="a stride of a multiple of 16 bytes, got 72"):
        replaced(replacement("global_stride", 72, 0))


@pytest.mark.parametrize(
    ("field", "greatest", "target", "message"),
    [
        ("elemtype", 12, "sm_90a", "an element type code of 0 to 12, got 13"),
        ("swizzle_mode", 3, "sm_90a", "a swizzle code of 0 to 3, got 4"),
        ("swizzle_mode", 3, "sm_100a", "a swizzle code of 0 to 3, got 4"),
        ("swizzle_mode", 4, "sm_103a", "a swizzle code of 0 to 4, got 5"),
    ],
)
def test_codes_of_targets(replaced, field, greatest, target, message):
    """ptxas 13.0: packed types are not on sm_90a, and swizzle 96B is on sm_103a alone."""
    replaced(replacement(field, greatest), target)
    with pytest.raises(ptxsim.Trap, match=message):
        replaced(replacement(field, greatest + 1), target)


def test_atomicity_is_not_on_hopper(replaced):
    """ptxas 13.0: tensormap.replace.swizzle_atomicity is not supported on sm_90a."""
    with pytest.raises((ptxsim.PtxError, TilecError), match="swizzle_atomicity"):
        replaced(replacement("swizzle_atomicity", 0), "sm_90a")


# The first thread writes the map at p2 in place; it and the second warp load through it.
RELEASE, ACQUIRE = (
    "fence.proxy.tensormap::generic.release.gpu;",
    "fence.proxy.tensormap::generic.acquire.gpu [%rd20], 128;",
)
REPLACE = """
ld.param.u64 %rd20, [p2];
@%p0 tensormap.replace.tile.global_dim.global.b1024.b32 [%rd20], 0, 12;
"""


@pytest.fixture
def arrays(aligned, encode_tensor_map):
    """A tensor of 16 u32, whose map has the extent 4, its image, and the map in global memory."""
    tensor = aligned(1 + np.arange(16, dtype=np.uint32))
    encoded = encode_tensor_map(tensor.ctypes.data, "u32", (4,), (), (16,))
    return tensor, aligned(np.zeros(16, np.uint32)), aligned(np.frombuffer(encoded, np.uint8))


def modified(steps: str) -> str:
    """A load through a map that the program modifies and publishes by `steps`."""
    setup, rest = load((0,), 64).split("@%p0 mbarrier.init", maxsplit=1)
    return f"{setup}{REPLACE}{steps}\n@%p0 mbarrier.init{rest}"


def run_modified(simulate, arrays, steps, **options):
    tensor, image, map_bytes = arrays
    simulate(modified(steps), bytes(128), image, map_bytes, block=4, map_targets=[tensor], **options)
    return image


def test_map_that_is_modified_in_global_memory(simulate, arrays):
    """5.5.8: a map may be in .global. A release and an acquire order its replacement and its use."""
    image = run_modified(simulate, arrays, RELEASE + ACQUIRE)
    np.testing.assert_array_equal(image, [*range(1, 13), 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("steps", "missing"),
    [("", "release"), (ACQUIRE, "release"), (ACQUIRE + RELEASE, "acquire"), (RELEASE, "acquire")],
)
def test_missing_fences_of_the_tensormap_proxy_are_races(simulate, arrays, steps, missing):
    """PTX ISA 9.7.13.15: fence.proxy.tensormap is unidirectional, so both fences are required, in this order."""
    message = f"expected fence.proxy.tensormap::generic.{missing} before the use of a tensor map that line"
    with pytest.raises(ptxsim.Trap, match=message) as trap:
        run_modified(simulate, arrays, steps)
    assert trap.value.kind == "race"
    run_modified(simulate, arrays, steps, checks=False)


def test_release_of_another_warp_needs_synchronization(simulate, arrays):
    """The first warp replaces, the second one releases."""
    other = "setp.eq.u32 %p3, %r0, 32;\n{synchronize}\n@%p3 " + RELEASE + "\nbar.sync 0;\n" + ACQUIRE
    tensor, image, map_bytes = arrays
    for synchronize, legal in (("bar.sync 0;", True), ("", False)):
        text = modified(other.format(synchronize=synchronize)).replace("ld.shared", "@%p4 ld.shared")
        text = text.replace("st.global", "@%p4 st.global").replace(REPLACE, REPLACE + "setp.lt.u32 %p4, %r0, 4;\n")
        arguments = (text, bytes(128), image, map_bytes)
        if legal:
            simulate(*arguments, block=64, map_targets=[tensor])
            continue
        with pytest.raises(ptxsim.Trap, match="generic.release before the use"):
            simulate(*arguments, block=64, map_targets=[tensor])


def test_map_in_parameters(simulate, arrays):
    """5.5.8: a map may be in .param."""
    tensor, image, map_bytes = arrays
    simulate(load((0,), 64), map_bytes.tobytes(), image, block=4, map_targets=[tensor])
    np.testing.assert_array_equal(image, [1, 2, 3, 4] + [0] * 12)


CONSTANT = """
.version 8.8
.target sm_100a
.address_size 64
.const .align 64 .b8 map[128] = {{{values}}};
.visible .entry kernel(.param .u64 p0, .param .u64 p1)
{{
.reg .pred %p<16>;
.reg .b32 %r<16>;
.reg .b64 %rd<64>;
{body}
ret;
}}
"""


def test_map_in_constant_memory(arrays):
    """5.5.8: a map may be in .const."""
    tensor, image, map_bytes = arrays
    body = load((0,), 64).replace("mov.b64 %rd20, p0;\ncvta.param.u64", "mov.b64 %rd20, map;\ncvta.const.u64")
    program = ptxsim.Program(CONSTANT.format(values=", ".join(map(str, map_bytes)), body=body))
    ranges = [(array.ctypes.data, array.nbytes, True) for array in (tensor, image)]
    program.run("kernel", (1,), (4,), parameters=struct.pack("<QQ", 0, image.ctypes.data), ranges=ranges)
    np.testing.assert_array_equal(image, [1, 2, 3, 4] + [0] * 12)


@pytest.mark.parametrize("space", ["shared", "local"])
def test_map_in_other_memory_is_refused(simulate, arrays, space):
    """5.5.8: maps are in .const, .param or .global."""
    tensor, image, map_bytes = arrays
    copies = "".join(f"ld.global.b32 %r6, [%rd20+{at}]; st.{space}.b32 [%r7+{at}], %r6;\n" for at in range(0, 128, 4))
    setup, rest = load((0,), 64).split("@%p0 mbarrier.init", maxsplit=1)
    moved = f"""
    .{space} .align 64 .b8 other[128];
    ld.param.u64 %rd20, [p2];
    mov.u32 %r7, other;
    {copies}
    cvt.u64.u32 %rd21, %r7;
    cvta.{space}.u64 %rd20, %rd21;
    """
    with pytest.raises(ptxsim.Trap, match=f"a tensor map in .const, .param or .global, got an address in .{space}"):
        simulate(f"{setup}{moved}@%p0 mbarrier.init{rest}", bytes(128), image, map_bytes, block=1, map_targets=[tensor])


@pytest.mark.parametrize("offset", [0, 16, 32])
def test_maps_are_aligned_to_64_bytes(simulate, aligned, arrays, offset):
    """CUDA driver API: the address of a map is a multiple of 64."""
    tensor, image, map_bytes = arrays
    memory = aligned(np.zeros(256, np.uint8))
    memory[offset : offset + 128] = map_bytes
    text = load((0,), 64).replace("mov.b64 %rd20, p0;\ncvta.param.u64 %rd20, %rd20;", "ld.param.u64 %rd20, [p2];")
    text = text.replace("setp.eq.u32 %p0", f"add.u64 %rd20, %rd20, {offset};\nsetp.eq.u32 %p0", 1)
    if offset == 0:
        simulate(text, bytes(128), image, memory, block=4, map_targets=[tensor])
        return
    with pytest.raises(ptxsim.Trap, match="aligned to 64 bytes") as trap:
        simulate(text, bytes(128), image, memory, block=4, map_targets=[tensor])
    assert trap.value.kind == "misaligned"
