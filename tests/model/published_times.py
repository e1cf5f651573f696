"""Published times of kernels with the descriptions that the model predicts: tables of configurations of one problem."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from predicted_attention import Attention, predict_attention
from predicted_rows import Rows, predict_rows

from tilec.lowering.model.launch import Prediction
from tilec.lowering.model.matmul import Matmul, predict_matmul

PREDICT: dict[type, Callable[[Any], Prediction]] = {
    Matmul: predict_matmul,
    Rows: predict_rows,
    Attention: predict_attention,
}


@dataclass(frozen=True)
class Configuration:
    """A configuration, its description, and its published time in microseconds."""

    name: str
    description: Matmul | Rows | Attention
    microseconds: float

    @property
    def predicted_microseconds(self) -> float:
        return PREDICT[type(self.description)](self.description).microseconds


@dataclass(frozen=True)
class Table:
    """Configurations of one problem that one source timed on one device."""

    name: str
    source: str
    configurations: Sequence[Configuration]


def by_teraflops(name: str, description: Matmul | Attention, teraflops: float) -> Configuration:
    """A configuration whose source states TFLOP/s."""
    return Configuration(name, description, description.flop / teraflops / 1e6)


GLUON = "triton-lang/triton, python/tutorials/gluon"
CUTILE = "NVIDIA/cutile-python, test/benchmark_tuning.json"
CUTILE_RS = "NVlabs/cutile-rs, cutile-benchmarks/paper/.../results/b200"

_SQUARE = {"rows": 8192, "columns": 8192}
_DEEP = {**_SQUARE, "depth": 16384}

# 05-wgmma.py: one thread group loads, waits and multiplies. Tile M, N, K, warps, blocks per SM, TFLOP/s.
_WAITING = (
    (128, 256, 256, 8, 1, 412.14),
    (256, 128, 256, 8, 1, 387.74),
    (64, 256, 128, 4, 2, 474.03),
    (64, 128, 256, 4, 2, 355.60),
    (128, 128, 128, 4, 2, 441.88),
    (128, 128, 128, 8, 2, 380.08),
)
# The same file with two slots, in which a multiply overlaps with the next load. The last one fits once per SM.
_OVERLAPPING = (
    (128, 256, 128, 8, 1, 426.06),
    (256, 128, 128, 8, 1, 385.85),
    (64, 256, 64, 4, 2, 417.50),
    (64, 128, 128, 4, 2, 384.98),
    (128, 128, 64, 4, 2, 495.31),
    (128, 128, 64, 8, 2, 446.81),
    (64, 256, 128, 4, 1, 363.36),
)


def _wgmma(rows: Sequence[tuple[int, int, int, int, int, float]], stages: int) -> list[Configuration]:
    return [
        by_teraflops(
            f"{m}x{n}x{k}, {warps} warps",
            Matmul(
                device="H100",
                **_DEEP,
                tile=(m, n, k),
                stages=stages,
                roles=False,
                multiply_is_awaited=stages == 1,
                warps=warps,
                blocks_per_processor=blocks,
            ),
            teraflops,
        )
        for m, n, k, warps, blocks, teraflops in rows
    ]


# 06-tcgen05.py: tiles 128x128, a step waits for its multiply. K of a step, stages, TFLOP/s.
_TCGEN05 = (
    (64, 1, 919.93),
    (64, 2, 1110.19),
    (64, 3, 756.52),
    (128, 1, 1049.77),
    (128, 2, 772.57),
    (128, 3, 801.36),
    (256, 1, 565.80),
)

# 07-persistence.py: tiles 128x256. K of a step, stages, warps, TFLOP/s of a block per tile and of persistent blocks.
_DEPTHS = {
    "B200": (
        (128, 2, 4, 735.96, 712.25),
        (128, 2, 8, 697.97, 686.64),
        (64, 3, 4, 1054.00, 1032.16),
        (64, 3, 8, 973.94, 938.81),
        (64, 4, 4, 1175.70, 1142.26),
        (64, 4, 8, 1072.83, 1071.46),
    ),
    "H100": ((128, 2, 8, 489.26, 502.84), (64, 3, 8, 673.67, 661.11), (64, 4, 8, 669.16, 658.84)),
}
# The same file: tiles along M in a group, TFLOP/s.
_GROUPS = ((1, 1025.11), (2, 1050.43), (4, 1032.71), (6, 1057.27), (8, 1179.94))
# K of the problem: TFLOP/s of a block per tile, of persistent blocks, with the next tile's loads ahead, with roles
# (08-warp-specialization.py) and with pairs of blocks (14-multicta.py).
_FORMS_B200 = {
    512: (615.86, 828.70, 993.50, 1160.28, 1096.31),
    1024: (997.16, 1077.28, 1173.31, 1249.69, 1306.07),
    2048: (1152.74, 1190.55, 1133.37, 1347.18, 1379.80),
    4096: (1164.05, 1120.92, 1143.47, 1390.95, 1444.26),
    8192: (1160.93, 1074.97, 1185.40, 1350.01, 1302.33),
    16384: (1185.62, 1096.34, 1296.93, 1448.14, 1292.40),
}
_FORMS_H100 = {
    512: (491.74, 485.01, 539.88),
    1024: (554.24, 575.02, 602.52),
    2048: (573.87, 594.72, 625.91),
    4096: (609.36, 630.10, 640.48),
    8192: (629.44, 646.22, 661.57),
    16384: (653.79, 660.29, 670.00),
}
_NAMES = ("block per tile", "persistent", "loads ahead", "roles", "pair")


def _without_roles(device: str, stages: int, warps: int, depth: int = 16384, k: int = 64, **form: Any) -> Matmul:
    return Matmul(
        device=device,
        **_SQUARE,
        depth=depth,
        tile=(128, 256, k),
        stages=stages,
        roles=False,
        blocks_per_processor=1,
        warps=warps,
        in_graph=True,
        **form,
    )


def _depth_tables() -> list[Table]:
    tables = []
    for device, rows in _DEPTHS.items():
        for index, form in ((3, {}), (4, {"persistent": True, "contiguous": True})):
            configurations = [
                by_teraflops(f"K {row[0]}, {row[1]} stages, {row[2]} warps", matmul, row[index])
                for row in rows
                for matmul in (_without_roles(device, row[1], row[2], k=row[0], **form),)
            ]
            name = f"stages, {'persistent' if form else 'block per tile'}, {device}"
            tables.append(Table(name, f"{GLUON}/07-persistence.py", configurations))
    return tables


def _forms(device: str, depth: int) -> list[Matmul]:
    """The forms of the kernel, in the order of _NAMES."""
    stages, warps, order = (4, 4, {"group": 8}) if device == "B200" else (3, 8, {"contiguous": True})
    base = _without_roles(device, stages, warps, depth)
    persistent = replace(base, persistent=True, **order)
    roles = replace(persistent, roles=True, accumulators=2)
    pair = replace(roles, tile=(256, 256, 64), pair=True, stages=6, group=16, in_graph=False)
    return [base, persistent, replace(persistent, loads_ahead=True), roles, pair]


def _form_tables() -> list[Table]:
    return [
        Table(
            f"form of the kernel, K={depth}, {device}",
            f"{GLUON}/07-persistence.py, 08-warp-specialization.py, 14-multicta.py",
            [by_teraflops(*row) for row in zip(_NAMES, _forms(device, depth), rates, strict=False)],
        )
        for device, rows in (("B200", _FORMS_B200), ("H100", _FORMS_H100))
        for depth, rates in rows.items()
    ]


# Kernel, element bits, columns of 65536 rows, elements of a tile, warps, microseconds.
_RMS_NORM = (
    ("persistent", "float16", 1024, 8 * 1024, 4, 67.22),
    ("gather", "float16", 1024, 1024, 4, 56.09),
    ("regular", "float16", 1024, 1024, 4, 83.02),
    ("persistent", "float32", 1024, 16 * 1024, 4, 89.44),
    ("gather", "float32", 1024, 1024, 4, 84.61),
    ("regular", "float32", 1024, 1024, 4, 92.31),
    ("persistent", "bfloat16", 1024, 16 * 1024, 4, 66.35),
    ("gather", "bfloat16", 1024, 1024, 4, 55.97),
    ("regular", "bfloat16", 1024, 1024, 4, 84.92),
    ("persistent", "float16", 2048, 4 * 2048, 4, 129.69),
    ("gather", "float16", 2048, 2048, 4, 88.57),
    ("regular", "float16", 2048, 2048, 4, 124.17),
    ("persistent", "float32", 2048, 4 * 2048, 4, 172.88),
    ("gather", "float32", 2048, 2048, 4, 160.20),
    ("regular", "float32", 2048, 2048, 4, 170.99),
    ("persistent", "bfloat16", 2048, 4 * 2048, 4, 129.93),
    ("gather", "bfloat16", 2048, 2048, 4, 88.86),
    ("regular", "bfloat16", 2048, 2048, 4, 127.68),
    ("persistent", "float16", 4096, 2 * 4096, 4, 238.28),
    ("gather", "float16", 4096, 4096, 4, 162.61),
    ("regular", "float16", 4096, 4096, 4, 214.54),
    ("persistent", "float32", 4096, 4 * 4096, 4, 338.75),
    ("gather", "float32", 4096, 4096, 8, 311.53),
    ("regular", "float32", 4096, 4096, 4, 333.53),
    ("persistent", "bfloat16", 4096, 2 * 4096, 4, 252.76),
    ("gather", "bfloat16", 4096, 4096, 4, 162.84),
    ("regular", "bfloat16", 4096, 4096, 4, 217.56),
)
# Blocks of 128 threads per SM by the registers that tileiras 13.5 uses for these kernels: 68 and 85.
_RMS_NORM_BLOCKS = {"gather": 7, "regular": 5}
# Conversion, square and sum in the first pass; conversions and two multiplies in the second.
_RMS_NORM_OPERATIONS = 6


def _rms_norm(kernel: str, element: str, columns: int, tile: int, warps: int) -> Rows:
    rows = Rows(
        device="B200",
        elements=65536 * columns,
        tile_elements=tile,
        element_bits=32 if element == "float32" else 16,
        fma=_RMS_NORM_OPERATIONS,
        warps=warps,
    )
    if kernel == "persistent":
        return replace(rows, persistent=True, stages=2, tma=True)
    return replace(rows, passes=2, blocks_per_processor=_RMS_NORM_BLOCKS[kernel])


def _rms_norm_tables() -> list[Table]:
    problems = {row[1:3]: None for row in _RMS_NORM}
    return [
        Table(
            f"RMS norm, {element}, {columns} columns, B200",
            CUTILE,
            [Configuration(row[0], _rms_norm(*row[:5]), row[5]) for row in _RMS_NORM if row[1:3] == (element, columns)],
        )
        for element, columns in problems
    ]


RANKED = (
    Table("a step waits for its multiply, H100", f"{GLUON}/05-wgmma.py", _wgmma(_WAITING, 1)),
    Table("a multiply overlaps with the next load, H100", f"{GLUON}/05-wgmma.py", _wgmma(_OVERLAPPING, 2)),
    Table(
        "stages of a step that waits, B200",
        f"{GLUON}/06-tcgen05.py",
        [
            by_teraflops(
                f"K {k}, {stages} stages",
                Matmul(
                    device="B200",
                    **_DEEP,
                    tile=(128, 128, k),
                    stages=stages,
                    roles=False,
                    multiply_is_awaited=True,
                ),
                teraflops,
            )
            for k, stages, teraflops in _TCGEN05
        ],
    ),
    *_depth_tables(),
    Table(
        "order of the tiles, B200",
        f"{GLUON}/07-persistence.py",
        [
            by_teraflops(f"group {group}", _without_roles("B200", 4, 4, persistent=True, group=group), teraflops)
            for group, teraflops in _GROUPS
        ],
    ),
    *_form_tables(),
    *_rms_norm_tables(),
)


def _cutile_rs(size: int, teraflops: float) -> Configuration:
    matmul = Matmul(
        device="B200",
        rows=size,
        columns=size,
        depth=size,
        tile=(256, 256, 64),
        stages=5,
        pair=True,
        persistent=True,
        accumulators=2,
        group=8,
    )
    return by_teraflops(f"{size}", matmul, teraflops)


def _b200_attention(name: str, teraflops: float, **form: Any) -> Configuration:
    attention = Attention(device="B200", **{"heads": 32, "queries": 8192, "keys": 8192, "head_size": 128, **form})
    return by_teraflops(name, attention, teraflops)


def _fa3(name: str, teraflops: float, **form: Any) -> Configuration:
    given = {"heads": 16, "queries": 16384, "keys": 16384, "head_size": 128, "tile": (64, 128), "tiles": 2, **form}
    return by_teraflops(name, Attention(device="H100", **given, multiplies_overlap=True), teraflops)


# Other published times, one problem each.
ABSOLUTE = (
    Table(
        "matmul of cuTile Python, float16, B200",
        f"{CUTILE_RS}/gemm_python_persistent_results.csv",
        [
            _cutile_rs(size, teraflops)
            for size, teraflops in (
                (2048, 989.83),
                (4096, 1608.25),
                (8192, 2037.83),
                (16384, 2108.79),
                (32768, 2111.20),
            )
        ],
    ),
    Table(
        "addition of cuTile Python, float16, B200",
        f"{CUTILE_RS}/elemwise_python_results.csv",
        [
            Configuration(
                f"{elements}",
                Rows(
                    device="B200",
                    elements=elements,
                    tile_elements=16384,
                    element_bits=16,
                    arrays_read=2,
                    fma=1,
                    blocks_per_processor=4,
                ),
                microseconds,
            )
            for elements, microseconds in (
                (1048576, 5.190),
                (2097152, 5.562),
                (4194304, 7.069),
                (8388608, 11.613),
                (16777216, 18.694),
                (33554432, 32.499),
                (67108864, 59.898),
                (134217728, 116.320),
                (268435456, 229.661),
            )
        ],
    ),
    Table(
        "attention, B200",
        "arXiv 2603.05451 (FlashAttention-4) and flash-attention PR 2605; Triton-to-tile-IR; cuTile's tuning file",
        [
            _b200_attention("FA4, head 128", 1605, queries=16384, keys=16384, tiles=2, emulated=0.2, persistent=True),
            _b200_attention(
                "FA4, head 64", 1225, queries=16384, keys=16384, head_size=64, tiles=2, emulated=0.2, persistent=True
            ),
            _b200_attention("tileiras, float16", 1230, tiles=2),
            _b200_attention("tileiras, float8", 1600, tiles=2, element_bits=8),
            _b200_attention("tileiras, causal", 1047, tiles=2, causal=True),
            _b200_attention("cuTile, causal, two blocks per SM", 936, causal=True, blocks_per_processor=2),
        ],
    ),
    Table(
        "attention, H100",
        "arXiv 2407.08608 (FlashAttention-3), 16384 tokens",
        [
            _fa3("head 128", 648),
            _fa3("head 128, causal", 616, causal=True),
            _fa3("head 64", 497, heads=32, head_size=64, tiles=3),
            _fa3("head 256", 756, heads=8, head_size=256, tile=(64, 80)),
            _fa3("head 256, float8", 1171, heads=8, head_size=256, element_bits=8),
        ],
    ),
)
