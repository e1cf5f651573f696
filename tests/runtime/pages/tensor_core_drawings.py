"""The drawings of docs/tensor_core.md, as text: made from the rules that they show."""

from __future__ import annotations

from collections.abc import Sequence

from stationary_convolution import TAPS, VECTORS, WIDTH

LANES, COLUMNS, LANES_PER_WARP = 128, 512, 32


def _box(title: str, lines: Sequence[str], width: int) -> list[str]:
    rule = f"+- {title} {'-' * (width - len(title) - 5)}+"
    return [rule, *(f"| {line:<{width - 4}} |" for line in lines), f"+{'-' * (width - 2)}+"]


def storage() -> str:
    """The memories of the operands of a multiply, and the instructions that move them."""
    shared = _box("shared memory", ["A, B", "scale factors, metadata"], 29)
    tensor = _box("tensor memory", ["A, D", "scale factors, metadata"], 29)
    arrow = ["", " -- tcgen05.cp -->", "", ""]
    rows = [f"{left}{middle:<20}{right}" for left, middle, right in zip(shared, arrow, tensor, strict=True)]
    below = [
        "       |                                             |       ^",
        "       |  A, B                              D, A     |       |  tcgen05.ld, tcgen05.st",
        "       v                                             v       v",
        "  tcgen05.mma: D = A * B + D  <------------------> D      registers of 4 warps",
    ]
    return "\n".join([*rows, *below])


def tensor_memory() -> str:
    """The lanes that each warp of a warpgroup reads and writes."""
    warps = LANES // LANES_PER_WARP
    head = f"{'':14}column 0{'':>24}{COLUMNS - 1}"
    lines = [head]
    for warp in range(warps):
        first, last = warp * LANES_PER_WARP, (warp + 1) * LANES_PER_WARP - 1
        lines.append(
            f"lanes {first:>3}-{last:<3}  | {'32 bits per cell':<32} |  warp {warp} of four, by tcgen05.ld and .st"
        )
    return "\n".join([*lines, f"an address is lane << 16 | column; an operand has {8} columns: 32 bytes of each row"])


def moves() -> str:
    """The lanes to which each form of tcgen05.cp copies row i."""
    forms = [
        ("128x256b, 128x128b", "128", "i"),
        ("4x256b at lane l", "4", "l + 32 i"),
        ("64x128b.warpx2::02_13", "64", "i, i + 64"),
        ("64x128b.warpx2::01_23", "64", "i + 32 (i / 32), and 32 lanes later"),
        ("32x128b.warpx4", "32", "i, i + 32, i + 64, i + 96"),
    ]
    head = f"{'tcgen05.cp':<24}{'rows':>5}  lanes of row i"
    return "\n".join([head, *(f"{name:<24}{rows:>5}  {lanes}" for name, rows, lanes in forms)])


def shifted(lane: int) -> int:
    """The lane whose row lane `lane` has after tcgen05.shift."""
    return lane if lane % LANES_PER_WARP == LANES_PER_WARP - 1 else lane + 1


def shift() -> str:
    """The rows of lanes before and after tcgen05.shift, with the gaps of each 32 lanes left out."""
    shown = [0, 1, 2, None, 30, 31, 32, 33, None, 126, 127]
    lines = ["lane   before   after tcgen05.shift   after tcgen05.cp.4x256b at lane 31"]
    for lane in shown:
        if lane is None:
            lines.append(" ..")
            continue
        new = f"new row {lane // LANES_PER_WARP}" if shifted(lane) == lane else f"row {shifted(lane)}"
        stays = "  (stays)" if shifted(lane) == lane else ""
        lines.append(f"{lane:>4}   row {lane:<6} row {shifted(lane)}{stays:<16} {new}".rstrip())
    return "\n".join(lines)


def example(first: int) -> str:
    """The pixels that sixteen lanes hold at each tap, from output `first` of image 0 on: image, position along W."""
    outputs = [divmod(first + lane, WIDTH) for lane in range(16)]
    lines = [f"{'lane':<12}" + "".join(f"{lane:>5}" for lane in range(16)) + "   disabled lanes"]
    lines.append(f"{'output n,q':<12}" + "".join(f"{f'{n},{q}':>5}" for n, q in outputs))
    for tap in range(TAPS):
        cells = [f"{n},{w}" if w >= 0 else "zero" for n, w in _run(first, 16 + TAPS)[tap : tap + 16]]
        word = VECTORS[first][tap]
        marked = [f"({cell})" if word >> lane & 1 else f"{cell} " for lane, cell in enumerate(cells)]
        lines.append(
            f"{f'tap {tap}':<12}" + "".join(f"{cell:>5}" for cell in marked).rstrip().ljust(80) + f"   {word:#06x}"
        )
    return "\n".join(lines)


def _run(first: int, count: int) -> list[tuple[int, int]]:
    """The pixels that im2col::w loads from the left neighbour of output `first` on."""
    pixels, image, w = [], 0, first - 1
    while len(pixels) < count:
        pixels.append((image, w))
        image, w = (image, w + 1) if w + 1 < WIDTH else (image + 1, 0)
    return pixels


def columns_of_a_tap() -> str:
    """The operands of implicit GEMM: rows of pixels, and filters."""
    return "\n".join(
        [
            "           K = R S C                         N = filters",
            "      +------------------+               +-----------------+",
            "      | tap 0,0 | tap .. |             K | tap 0,0 of each |",
            "M =   | C of a  |        |   times       | tap ..          |   =   M outputs by N filters",
            "N P Q | pixel   |        |               |                 |",
            "      +------------------+               +-----------------+",
            "one copy by TMA per tap and block of C: the pixels of M outputs at this tap",
        ]
    )


def run_of_pixels() -> str:
    """A run of pixels with its padding, and the rows that each tap of three reads."""
    width, padding = 9, 1
    run = ["0"] * padding + [f"x{w}" for w in range(width)] + ["0"] * padding
    lines = [f"{'run':<8}" + " ".join(f"{pixel:>2}" for pixel in run)]
    for tap in range(TAPS):
        lines.append(
            f"{f'tap {tap}':<8}"
            + " ".join("  " if not tap <= i < tap + width else f"q{i - tap}" for i in range(len(run)))
        )
    return "\n".join(line.rstrip() for line in lines)


# Rows of the product, the instructions, and by group of lanes the rows and the columns of the product.
LAYOUTS = (
    ("M 256, a pair", "each CTA: lane i has row i of its 128"),
    ("M 128", "lane i has row i"),
    ("M 128, a pair", "each CTA: lane i % 64 of its 64 rows; lanes 64 to 127 have the second half of the columns"),
    ("M 64", "lane 32 (i / 16) + i % 16 has row i"),
    ("M 64 with .ws", "lane i has row i; lanes 64 to 127 have the second half of the columns"),
    ("M 32 with .ws", "lane i has row i; each further 32 lanes have the next quarter of the columns"),
)


def layouts() -> str:
    """The lanes of D for each number of rows."""
    return "\n".join(f"{name:<16}{lanes}" for name, lanes in LAYOUTS)


def factors() -> str:
    """The factors of a row of 64 elements, and their bytes in a cell of tensor memory."""
    lines = []
    for name, block, depth in (("mxf8f6f4", 32, 32), ("mxf4", 32, 64), ("mxf4nvf4", 16, 64)):
        parts = depth // block
        row = "".join(f"|{f'{block} elements':^{block - 1}}" for _ in range(parts)) + "|"
        places = "".join(f"|{f'factor: byte {part}':^{block - 1}}" for part in range(parts)) + "|"
        lines += [f"{name:<10}{row}", f"{'':<10}{places}"]
    return "\n".join(
        [*lines, "lane i % 32 of column i / 32 has the factors of row i; the lanes of each warp have a copy"]
    )
