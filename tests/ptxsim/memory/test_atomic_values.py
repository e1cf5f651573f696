"""Values of atom, red and TMA reductions for every operation and type, by a model in numpy; blocks in contention."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

DTYPES = {
    "u32": np.uint32,
    "s32": np.int32,
    "u64": np.uint64,
    "s64": np.int64,
    "b16": np.uint16,
    "b32": np.uint32,
    "b64": np.uint64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
MODEL: dict[str, Callable] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, given: given,
    "add": np.add,
    "inc": lambda old, limit: np.where(old >= limit, np.zeros_like(old), old + old.dtype.type(1)),
    "dec": lambda old, limit: np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1)),
    "min": np.minimum,
    "max": np.maximum,
}
COMPARED = ("u32", "s32", "u64", "s64")
TYPES = {
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "exch": ("b32", "b64"),
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "bf16"),
    "inc": ("u32",),
    "dec": ("u32",),
    "min": COMPARED,
    "max": COMPARED,
}
CASES = [(operation, kind) for operation, kinds in TYPES.items() for kind in kinds]
VECTORS = [
    ("add", "f32", 2, 1),
    ("add", "f32", 4, 1),
    *((operation, kind, count, packed) for operation in ("add", "min", "max") for kind in ("f16", "bf16")
      for count, packed in ((2, 1), (4, 1), (8, 1), (2, 2), (4, 2))),
    *(("add", kind, 1, 2) for kind in ("f16", "bf16")),
]  # fmt: skip
FORMS = [("atom", *case) for case in [*((operation, kind, 1, 1) for operation, kind in CASES), *VECTORS]]
# red has no exchange.
FORMS += [("red", *case) for _, *case in FORMS if case[0] != "exch"]
LANES = 32
REGISTERS = {2: "h", 4: "r", 8: "rd"}


def numbers(random: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """Any integers; normal floats of several magnitudes, so that sums are rounded."""
    dtype = np.dtype(DTYPES[kind])
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, count, dtype, endpoint=True)
    return (random.standard_normal(count) * 2.0 ** random.integers(-4, 5, count)).astype(dtype)


def access(kind: str, values: int, register: int, packed: int = 1) -> tuple[str, str, int]:
    """The type of loads of `values` operands of `packed` elements, their registers, and the bytes of all."""
    size = np.dtype(DTYPES[kind]).itemsize * packed
    names = [f"%{REGISTERS[size]}{register + number}" for number in range(values)]
    return f"b{8 * size}", "{" + ", ".join(names) + "}" if values > 1 else names[0], size * values


def address(number: int, size: int) -> str:
    """%rd40 plus `number` is the address of this lane's elements in argument `number`."""
    return (
        f"ld.param.u64 %rd{40 + number}, [p{number}]; mul.wide.u32 %rd50, %r0, {size}; "
        f"add.u64 %rd{40 + number}, %rd{40 + number}, %rd50;"
    )


def atomic_body(name: str, operation: str, kind: str, count: int = 1, packed: int = 1) -> str:
    """Each lane updates its elements of p0 with those of p1, and stores what `atom` returns to p2."""
    load, given, size = access(kind, count, 0, packed)
    _, old, _ = access(kind, count, 8, packed)
    vector = f".v{count}" if count > 1 else ""
    flush = ".noftz" if kind in ("f16", "bf16") else ""
    type_name = f"{kind}x2" if packed == 2 else kind
    # A load of 16 bytes of b16 has no vector of eight, so each part is loaded alone.
    loads = "".join(f"ld.global.{load} {register}, [%rd41+{part * size // count}];" for part, register in listed(given))
    stores = "".join(f"st.global.{load} [%rd42+{part * size // count}], {register};" for part, register in listed(old))
    target = f"{old}, " if name == "atom" else ""
    return f"""
    mov.u32 %r0, %tid.x; {address(0, size)} {address(1, size)} {address(2, size)} {loads}
    {name}.global.{operation}{flush}{vector}.{type_name} {target}[%rd40], {given};
    {stores if name == "atom" else ""}"""


def listed(registers: str) -> list[tuple[int, str]]:
    return list(enumerate(registers.strip("{}").split(", ")))


@pytest.mark.parametrize(("name", "operation", "kind", "count", "packed"), FORMS)
def test_value_and_returned_value(simulate, aligned, name, operation, kind, count, packed):
    random = np.random.default_rng(1)
    before, given = (aligned(numbers(random, kind, LANES * count * packed)) for _ in range(2))
    memory, old = aligned(before), aligned(np.zeros_like(before))
    simulate(atomic_body(name, operation, kind, count, packed), memory, given, old)
    assert np.array_equal(memory, MODEL[operation](before, given))
    assert np.array_equal(old, before if name == "atom" else np.zeros_like(before))


@pytest.mark.parametrize("kind", ["b16", "b32", "b64"])
def test_compare_and_swap(simulate, aligned, kind):
    """Even lanes find what they compare with."""
    random = np.random.default_rng(2)
    before, fresh = (aligned(numbers(random, kind, LANES)) for _ in range(2))
    memory, compared, old = aligned(before), aligned(before ^ (np.arange(LANES) % 2).astype(before.dtype)), before * 0
    load, one, size = access(kind, 1, 1)
    two, three = one.replace("1", "2"), one.replace("1", "3")
    body = f"""
    mov.u32 %r0, %tid.x; {"".join(address(number, size) for number in range(4))}
    ld.global.{load} {one}, [%rd41]; ld.global.{load} {two}, [%rd42];
    atom.global.cas.{kind} {three}, [%rd40], {one}, {two}; st.global.{load} [%rd43], {three};"""
    simulate(body, memory, compared, fresh, old)
    assert np.array_equal(memory, np.where(np.arange(LANES) % 2, before, fresh))
    assert np.array_equal(old, before)


SMALLEST = 0x00000001  # the bits of 2**-149
NORMAL = 0x00800000  # the bits of 2**-126, the least normal number


@pytest.mark.parametrize(
    ("space", "operand", "after"),
    [
        # Operands: 2**-126 + 2**-149; results: -2**-126 + 3 * 2**-127, which is subnormal.
        ("global", SMALLEST, NORMAL),
        ("shared", SMALLEST, NORMAL + 1),
        ("global", 0x80C00000, 0x80000000),
        ("shared", 0x80C00000, 0x80400000),
    ],
)
def test_sum_of_f32_flushes_subnormals_in_global_memory_only(simulate, space, operand, after):
    """PTX ISA 9.7.13.6."""
    out = np.array([NORMAL], np.uint32)
    place = "[%rd1]" if space == "global" else "[buffer]"
    simulate(
        f"""
        .shared .u32 buffer; ld.param.u64 %rd1, [p0]; ld.global.b32 %r1, [%rd1]; st.{space}.b32 {place}, %r1;
        mov.b32 %f1, {operand:#x}; red.{space}.add.f32 {place}, %f1; ld.{space}.b32 %r2, {place};
        st.global.b32 [%rd1], %r2;""",
        out,
        block=1,
    )
    assert out[0] == after


@pytest.mark.parametrize("seed", range(6))
def test_no_half_of_a_pair_is_lost(simulate, seed):
    """All threads add (1, 2) to one pair."""
    pair = np.zeros(2, np.float16)
    body = "ld.param.u64 %rd1, [p0]; mov.b32 %r1, 0x40003C00; red.relaxed.gpu.global.add.noftz.f16x2 [%rd1], %r1;"
    simulate(body, pair, block=64, grid=8, seed=seed)
    assert list(pair) == [512, 1024]


@pytest.mark.parametrize("seed", range(6))
def test_loop_of_compare_and_swap_loses_no_update(simulate, seed):
    """Each thread multiplies by 3 modulo 2**16, which no instruction does; neighbours of the 16 bits are kept."""
    memory = np.array([7, 1, 9, 0], np.uint16)
    body = """
    ld.param.u64 %rd1, [p0];
    ld.relaxed.gpu.global.b16 %h1, [%rd1+2];
    again: mul.lo.u16 %h2, %h1, 3; atom.relaxed.gpu.global.cas.b16 %h3, [%rd1+2], %h1, %h2;
    setp.ne.u16 %p1, %h3, %h1; mov.b16 %h1, %h3; @%p1 bra again;"""
    simulate(body, memory, block=64, grid=4, seed=seed)
    assert list(memory) == [7, pow(3, 256, 2**16), 9, 0]


@pytest.mark.parametrize(("size", "kind", "vector"), [(4, "u32", ""), (8, "f32", ".v2"), (2, "f16", "")])
def test_misaligned_address_is_reported(simulate, size, kind, vector):
    out = np.zeros(4, np.uint64)
    operand = {"u32": "%r1", "f32": "{%f1, %f1}", "f16": "%h1"}[kind]
    flush = ".noftz" if kind == "f16" else ""
    body = (
        "ld.param.u64 %rd1, [p0]; mov.b32 %r1, 0; mov.b16 %h1, 0; mov.f32 %f1, 0f00000000; "
        f"red.global.add{flush}{vector}.{kind} [%rd1+{size // 2}], {operand};"
    )
    with pytest.raises(RuntimeError, match=f"needs an address aligned to {size} bytes") as trap:
        simulate(body, out, block=1)
    assert trap.value.kind == "misaligned"


INTEGERS = ("s32", "u32", "s64", "u64")
REDUCTIONS = [("add", kind) for kind in ("s32", "u32", "u64", "f16", "bf16", "f32")]
REDUCTIONS += [(operation, kind) for operation in ("min", "max") for kind in (*INTEGERS, "f16", "bf16")]
REDUCTIONS += [(operation, kind) for operation in ("and", "or", "xor") for kind in INTEGERS]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("operation", "kind"), REDUCTIONS)
def test_tma_reduces_by_the_type_of_its_map(simulate, aligned, encode_tensor_map, operation, kind, seed):
    """Three blocks reduce 64 elements at coordinate 40 of 88, so that 16 elements are outside."""
    random = np.random.default_rng(4)
    dtype = np.dtype(DTYPES[kind])
    # Sums of whole numbers are exact in any order.
    whole = random.integers(-9, 10, (4, 88)) if kind[0] != "u" else random.integers(0, 10, (4, 88))
    before, given = aligned(whole[0].astype(dtype)), aligned(np.ascontiguousarray(whole[1:, :64]).astype(dtype))
    memory = aligned(before)
    load, register, size = access(kind, 1, 1)
    encoded = encode_tensor_map(memory.ctypes.data, kind, (88,), (), (64,))
    body = f"""
    .shared .align 128 .b8 buffer[512];
    mov.u32 %r0, %tid.x; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r6, %r5, 64, %r0;
    ld.param.u64 %rd41, [p1]; mul.wide.u32 %rd50, %r6, {size}; add.u64 %rd41, %rd41, %rd50;
    mov.u32 %r7, buffer; mad.lo.u32 %r8, %r0, {size}, %r7;
    ld.global.{load} {register}, [%rd41]; st.shared.{load} [%r8], {register};
    fence.proxy.async.shared::cta; bar.sync 0; setp.eq.u32 %p1, %r0, 0;
    mov.b64 %rd1, p0; cvta.param.u64 %rd1, %rd1;
    @%p1 cp.reduce.async.bulk.tensor.1d.global.shared::cta.{operation}.tile.bulk_group [%rd1, {{40}}], [%r7];
    @%p1 cp.async.bulk.commit_group; @%p1 cp.async.bulk.wait_group 0;"""
    simulate(body, encoded, given, block=64, grid=3, map_targets=(memory,), seed=seed)
    expected = before.copy()
    for block in range(3):
        expected[40:] = MODEL[operation](expected[40:], given[block][:48])
    assert np.array_equal(memory, expected)
