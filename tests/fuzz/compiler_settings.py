"""Random settings of the compiler: passes that are left out, less memory than a target has, and options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random

from tilec.lowering.gpu.passes import HEURISTICS, PASSES
from tilec.lowering.target import TARGETS
from tilec.lowering.tile.passes import PASSES as TILE_PASSES
from tilec.lowering.tile.passes import TilePass

# The passes over Tile IR that no later stage needs.
OPTIONAL_TILE_PASSES = (
    "simplify-control", "split-tiles", "split-chains", "divide-stores", "divide-reductions", "divide-depth",
    "compare-positions", "cse", "hoist-invariants",
)  # fmt: skip
_NOTHING = TilePass(lambda module: None)
SHARED_BYTES = (30_000, 60_000, 90_000, 120_000, 170_000)
TENSOR_MEMORY_COLUMNS = (128, 256)


@dataclass(frozen=True)
class Settings:
    """One compile: the target, options, names of omitted passes, and sizes of memory (None: all of the target)."""

    target: str
    hints: Mapping[str, bool | int] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    shared_bytes: int | None = None
    tensor_memory_columns: int | None = None

    def with_all_memory(self) -> Settings:
        return replace(self, shared_bytes=None, tensor_memory_columns=None)


def random_settings(random: Random, target: str) -> Settings:
    """Half of the settings leave out passes; every option and size has its default in most of them."""
    switches = (("roles", 0.2), ("pipeline", 0.15), ("tma", 0.15), ("multicast", 0.1), ("register_budgets", 0.1))
    hints: dict[str, bool | int] = {name: False for name, share in switches if random.random() < share}
    if random.random() < 0.25:
        hints["stages"] = random.choice((1, 2, 3, 5))
    if random.random() < 0.25:
        hints["warps"] = random.choice((4, 8))
    if random.random() < 0.2:
        hints["num_ctas"] = random.choice((2, 2, 2, 4))
    if random.random() < 0.1:
        hints["occupancy"] = random.choice((1, 2))
    without = random_omissions(random)
    shared_bytes = random.choice(SHARED_BYTES) if random.random() < 0.4 else None
    columns = random.choice(TENSOR_MEMORY_COLUMNS) if random.random() < 0.2 else None
    hints |= random_requests(random)
    return Settings(target, hints, without, shared_bytes, columns if TARGETS[target].tensor_memory_columns else None)


def random_requests(random: Random) -> dict[str, bool | int]:
    """Options that are off by default, of which most have a remark where they are not followed."""
    hints: dict[str, bool | int] = {name: True for name in ("persistent", "arrays_apart") if random.random() < 0.15}
    if random.random() < 0.2:
        hints["occupancy"] = random.choice((2, 2, 4))
    return hints


def random_omissions(random: Random) -> tuple[str, ...]:
    """The names of passes to leave out: none in half of the cases."""
    if random.random() < 0.5:
        return ()
    over_tiles = tuple(name for name in OPTIONAL_TILE_PASSES if random.random() < 0.1)
    return over_tiles + tuple(name for name in (*PASSES, *HEURISTICS) if random.random() < 0.25)


@contextmanager
def limited_compiler(settings: Settings) -> Iterator[None]:
    """The compiler without the passes, and the target with the memory, of `settings`."""
    tables = [(table, dict(table)) for table in (PASSES, HEURISTICS, TILE_PASSES)]
    target = TARGETS[settings.target]
    try:
        for name in settings.without:
            PASSES.pop(name, None)
            HEURISTICS.pop(name, None)
            if name in TILE_PASSES:
                TILE_PASSES[name] = _NOTHING
        sizes = {
            name: size
            for name in ("shared_bytes", "tensor_memory_columns")
            if (size := getattr(settings, name)) is not None
        }
        TARGETS[settings.target] = replace(target, **sizes)
        yield
    finally:
        for table, entries in tables:
            table.clear()
            table.update(entries)
        TARGETS[settings.target] = target
