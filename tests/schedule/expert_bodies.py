"""The loop bodies of documented kernels as scheduling problems: what an expert's schedule is known for.

Attention counts neither L2 nor global memory, as the published intervals do not: the blocks of a head share keys.
"""

from __future__ import annotations

from collections.abc import Callable

import tile_costs

from tilec.lowering.schedule import costs
from tilec.lowering.schedule.costs import MBARRIER, Cost
from tilec.lowering.schedule.parts import Buffer, BufferUse, Edge, Kind, Limits, Memory, Operation, RegisterValue
from tilec.lowering.schedule.problem import Problem

# Bytes of dynamic shared memory of a block, and columns of tensor memory.
SHARED = 232448
COLUMNS = 512
# A tile of 128x128 elements, of 16 and of 32 bits.
TILE_BYTES = 128 * 128 * 2
WIDE_BYTES = 128 * 128 * 4


def operation(name: str, kind: Kind, cost: Cost, warps: int = 4, rare: bool = False) -> Operation:
    return Operation(name, kind, cost.duration, cost.uses, warps if kind == Kind.TILE else 1, rare)


def limits(shared: int, columns: int) -> Limits:
    return Limits((Memory("shared", shared), Memory("tensor", columns)))


def gemm_pair() -> Problem:
    """256x256x64 by a pair of CTAs: the work of one SM."""
    return _gemm("gemm-pair", 128, 128, costs.multiply("sm_100a", 128, 256, 64, pair=True))


def gemm_128x256() -> Problem:
    """128x256x64 by one CTA, whose operands take longer from L2 than the multiply."""
    return _gemm("gemm-128x256", 128, 256, costs.multiply("sm_100a", 128, 256, 64))


def _gemm(name: str, rows: int, columns: int, mma: Cost) -> Problem:
    loads = [costs.tma_load("sm_100a", extent * 64 * 2, "l2") for extent in (rows, columns)]
    operations = [operation(f"load_{x}", Kind.STREAM, load) for x, load in zip("ab", loads, strict=True)]
    edges = [Edge(f"load_{x}", "mma", load.latency, cross=MBARRIER) for x, load in zip("ab", loads, strict=True)]
    buffers = [
        Buffer(x, f"load_{x}", (BufferUse("mma", mma.latency),), "shared", extent * 64 * 2)
        for x, extent in zip("ab", (rows, columns), strict=True)
    ]
    all_operations = (*operations, operation("mma", Kind.ISSUE, mma))
    return Problem(name, all_operations, tuple(edges), tuple(buffers), limits=limits(SHARED, 0))


def tile_loop() -> Problem:
    """The loop over tiles of a persistent GEMM, K = 512: the inner loop is one operation, the epilogue 8 parts."""
    inner = costs.multiply("sm_100a", 128, 256, 512, pair=True)
    inner = Cost(inner.uses[0].busy, inner.uses, inner.latency)
    read, convert = tile_costs.tensor_load(128 * 32 * 4), tile_costs.shared_access(128 * 32 * 2)
    store = costs.tma_store("sm_100a", 128 * 32 * 2)
    operations = [operation("mma", Kind.ISSUE, inner)]
    edges, buffers = [], []
    for part in range(8):
        operations += [
            operation(f"read{part}", Kind.TILE, read),
            operation(f"convert{part}", Kind.TILE, convert),
            operation(f"store{part}", Kind.TILE, store, warps=1),
        ]
        edges += [
            Edge("mma", f"read{part}", inner.latency, cross=MBARRIER),
            Edge(f"read{part}", f"convert{part}", read.latency, cross=costs.moved(16), moved_kb=16),
            Edge(f"convert{part}", f"store{part}", convert.latency, cross=MBARRIER),
        ]
        use = BufferUse(f"store{part}", store.latency)
        buffers.append(Buffer(f"staging{part}", f"convert{part}", (use,), "shared", 128 * 32 * 2))
    accumulator = Buffer(
        "accumulator", "mma", tuple(BufferUse(f"read{part}", read.latency) for part in range(8)), "tensor", 256
    )
    # The rings of the inner loop have the rest of shared memory.
    room = limits(8 * 128 * 32 * 2, COLUMNS)
    return Problem("gemm-tiles", tuple(operations), tuple(edges), (accumulator, *buffers), limits=room)


def softmax(target: str, kb: int) -> Problem:
    """Softmax of rows of 4-byte elements, `kb` KB per iteration, streamed from and to global memory."""
    size, elements = kb * 1024, kb * 256
    table = {
        "load": costs.tma_load(target, size, "hbm"),
        "read": tile_costs.shared_access(size),
        "maximum": tile_costs.reduction(elements),
        "exp": tile_costs.exponential(elements),
        "sum": tile_costs.reduction(elements),
        "scale": tile_costs.elementwise(elements),
        "write": tile_costs.shared_access(size),
        "store": costs.tma_store(target, size, "hbm"),
    }
    kinds = {"load": Kind.STREAM}
    operations = tuple(
        operation(name, kinds.get(name, Kind.TILE), cost, warps=1 if name == "store" else 4)
        for name, cost in table.items()
    )

    def value(source: str, target: str, size_kb: int) -> Edge:
        return Edge(source, target, table[source].latency, cross=costs.moved(size_kb), moved_kb=size_kb)

    edges = (
        Edge("load", "read", table["load"].latency, cross=MBARRIER),
        *(value(*names, kb) for names in (("read", "maximum"), ("read", "exp"), ("exp", "sum"), ("exp", "scale"))),
        *(value(*names, 1) for names in (("maximum", "exp"), ("sum", "scale"))),
        value("scale", "write", kb),
        Edge("write", "store", table["write"].latency, cross=MBARRIER),
    )
    buffers = (
        Buffer("x", "load", (BufferUse("read", table["read"].latency),), "shared", size),
        Buffer("y", "write", (BufferUse("store", table["store"].latency),), "shared", size),
    )
    return Problem(f"softmax-{kb}kb-{target}", operations, edges, buffers, limits=limits(SHARED, 0))


def attention_hopper(groups: int, *, is_serial: bool = False) -> Problem:
    """FlashAttention-3 forward: `groups` warpgroups of 64 rows, head 128, blocks of 128 keys; serial: QK after PV."""
    load = costs.tma_load("sm_90a", TILE_BYTES)
    qk, pv = costs.multiply("sm_90a", 64, 128, 128), costs.multiply("sm_90a", 64, 128, 128, first_in_place=True)
    operations = [operation("load_k", Kind.STREAM, load), operation("load_v", Kind.STREAM, load)]
    edges: list[Edge] = []
    registers: list[RegisterValue] = []
    cost = {
        "qk": qk,
        "maximum": tile_costs.reduction(64 * 128),
        "exp": tile_costs.exponential(64 * 128),
        "sum": tile_costs.elementwise(64 * 128),
        "rescale": tile_costs.RARE_RESCALE,
        "pv": pv,
    }
    for group in range(groups):
        names = {name: f"{name}{group}" for name in cost}
        operations += [operation(names[name], Kind.TILE, entry) for name, entry in cost.items()]

        def edge(source: str, target: str, distance: int = 0, names: dict[str, str] = names) -> Edge:
            return Edge(names[source], names[target], cost[source].latency, distance, is_same=True)

        edges += [
            Edge("load_k", names["qk"], load.latency, cross=MBARRIER),
            Edge("load_v", names["pv"], load.latency, cross=MBARRIER),
            *(edge("qk", "maximum"), edge("maximum", "maximum", 1), edge("maximum", "exp"), edge("exp", "sum")),
            *(edge("sum", "sum", 1), edge("maximum", "rescale"), edge("exp", "pv"), edge("rescale", "pv")),
            edge("pv", "rescale", 1),
            *([edge("pv", "qk", 1)] if is_serial else []),
        ]
        scores = BufferUse(names["exp"], cost["exp"].duration)
        registers.append(RegisterValue(f"scores{group}", names["qk"], (scores,), 64))
        parts = (BufferUse(names["sum"], cost["sum"].duration), BufferUse(names["pv"], pv.latency))
        # The weights take the registers of the scores, from the end of exp2 on.
        registers.append(RegisterValue(f"weights{group}", names["exp"], parts, 32, cost["exp"].latency))
    buffers = (
        Buffer("k", "load_k", tuple(BufferUse(f"qk{g}", qk.latency) for g in range(groups)), "shared", TILE_BYTES),
        Buffer("v", "load_v", tuple(BufferUse(f"pv{g}", pv.latency) for g in range(groups)), "shared", TILE_BYTES),
    )
    room = SHARED - groups * TILE_BYTES // 2
    name = f"attention-hopper-{groups}x64" + ("-serial" if is_serial else "")
    return Problem(name, tuple(operations), tuple(edges), buffers, tuple(registers), limits(room, 0))


def _uses(names: list[str], cost: Cost) -> tuple[BufferUse, ...]:
    return tuple(BufferUse(name, cost.latency) for name in names)


def attention_blackwell(name: str, tiles: int, *, parts: int = 1, emulated: float = 0.0) -> Problem:
    """FlashAttention-4 forward: `tiles` tiles of 128 rows, head 128, blocks of 128 keys.

    exp2 and PV are split into `parts`; a fraction of exp2 is computed without MUFU.
    """
    load = costs.tma_load("sm_100a", TILE_BYTES)
    qk = costs.multiply("sm_100a", 128, 128, 128)
    pv = costs.multiply("sm_100a", 128, 128, 128 // parts, first_in_place=True)
    read, maximum = tile_costs.tensor_load(WIDE_BYTES), tile_costs.reduction(128 * 128)
    exp, total = tile_costs.exponential(128 * 128 // parts, emulated), tile_costs.elementwise(128 * 128)
    operations = [operation("load_k", Kind.STREAM, load), operation("load_v", Kind.STREAM, load)]
    edges: list[Edge] = []
    buffers: list[Buffer] = []
    registers: list[RegisterValue] = []
    for t in range(tiles):
        exps, pvs = [f"exp{t}_{part}" for part in range(parts)], [f"pv{t}_{part}" for part in range(parts)]
        operations += [
            operation(f"qk{t}", Kind.ISSUE, qk),
            operation(f"read{t}", Kind.TILE, read),
            operation(f"maximum{t}", Kind.TILE, maximum),
            *(operation(name, Kind.TILE, exp) for name in exps),
            operation(f"sum{t}", Kind.TILE, total),
            operation(f"rescale{t}", Kind.TILE, tile_costs.RARE_RESCALE, rare=True),
            *(operation(name, Kind.ISSUE, pv) for name in pvs),
        ]
        row = {"cross": costs.moved(1), "moved_kb": 1}
        edges += [
            Edge("load_k", f"qk{t}", load.latency, cross=MBARRIER),
            Edge(f"qk{t}", f"read{t}", qk.latency, cross=MBARRIER),
            # The scores of 64 KB stay in the registers of one role.
            Edge(f"read{t}", f"maximum{t}", read.latency, is_same=True),
            *(Edge(f"read{t}", name, read.latency, is_same=True) for name in exps),
            Edge(f"maximum{t}", f"maximum{t}", maximum.latency, 1, is_same=True),
            *(Edge(f"maximum{t}", name, maximum.latency, is_same=True) for name in exps),
            # Parts are computed in order.
            *(Edge(a, b, exp.duration, is_same=True) for a, b in zip(exps, exps[1:], strict=False)),
            *(Edge(a, b, pv.uses[0].busy, is_same=True) for a, b in zip(pvs, pvs[1:], strict=False)),
            *(Edge(name, f"sum{t}", exp.latency, 0, costs.moved(32), 32 // parts) for name in exps),
            Edge(f"sum{t}", f"sum{t}", total.latency, 1, is_same=True),
            *(Edge(a, b, exp.latency, cross=MBARRIER) for a, b in zip(exps, pvs, strict=True)),
            *(Edge("load_v", name, load.latency, cross=MBARRIER) for name in pvs),
            Edge(f"maximum{t}", f"rescale{t}", maximum.latency, **row),
            Edge(f"rescale{t}", pvs[0], tile_costs.RARE_RESCALE.latency, cross=MBARRIER),
            Edge(pvs[-1], f"rescale{t}", pv.latency, 1, cross=MBARRIER),
        ]
        buffers += [
            Buffer(f"scores{t}", f"qk{t}", (BufferUse(f"read{t}", read.latency),), "tensor", 128),
            Buffer(f"weights{t}", exps[0], _uses(pvs, pv), "tensor", 64, f"scores{t}"),
        ]
        registers.append(RegisterValue(f"row{t}", f"read{t}", (BufferUse(exps[-1], exp.duration),), 128))
    names = [entry.name for entry in operations if entry.name.startswith("pv")]
    buffers += [
        Buffer("k", "load_k", _uses([f"qk{t}" for t in range(tiles)], qk), "shared", TILE_BYTES),
        Buffer("v", "load_v", _uses(names, pv), "shared", TILE_BYTES),
    ]
    room = limits(SHARED - tiles * TILE_BYTES, COLUMNS - tiles * 128)
    return Problem(name, tuple(operations), tuple(edges), tuple(buffers), tuple(registers), room)


# The bodies by name, with the documented interval of each.
BODIES: dict[str, tuple[Callable[[], Problem], int]] = {
    "gemm-pair": (gemm_pair, 512),
    "gemm-128x256": (gemm_128x256, 696),
    "gemm-tiles": (tile_loop, 4096),
    "softmax-32kb-sm_100a": (lambda: softmax("sm_100a", 32), 2528),
    "softmax-16kb-sm_100a": (lambda: softmax("sm_100a", 16), 1264),
    "softmax-32kb-sm_90a": (lambda: softmax("sm_90a", 32), 3856),
    "attention-hopper-2x64": (lambda: attention_hopper(2), 2048),
    "attention-hopper-2x64-serial": (lambda: attention_hopper(2, is_serial=True), 2152),
    "attention-hopper-3x64": (lambda: attention_hopper(3), 3072),
    # The prototype's 1360 counted the registers of the weights from the start of exp2.
    "attention-hopper-1x64": (lambda: attention_hopper(1), 1180),
    "attention-one-tile": (lambda: attention_blackwell("attention-one-tile", 1), 1440),
    "attention-two-tiles": (lambda: attention_blackwell("attention-two-tiles", 2), 2864),
    "attention-emulated": (lambda: attention_blackwell("attention-emulated", 2, emulated=0.25), 2608),
    "attention-parts": (lambda: attention_blackwell("attention-parts", 2, parts=4), 2552),
    "attention-both": (lambda: attention_blackwell("attention-both", 2, parts=4, emulated=0.25), 2296),
    "attention-eight-parts": (lambda: attention_blackwell("attention-eight-parts", 2, parts=8, emulated=0.25), 2328),
}
