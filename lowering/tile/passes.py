"""The passes over Tile IR by name, and the pipeline that compiling runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilec.dialect.mlir import ir, passmanager
from tilec.lowering.tile.annotate_analysis import annotate_analysis
from tilec.lowering.tile.fold_constants import Evaluate, fold_constants
from tilec.lowering.tile.fuse_fma import fuse_fma
from tilec.lowering.tile.hoist_invariants import hoist_invariants
from tilec.lowering.tile.mark_inbounds import mark_inbounds
from tilec.lowering.tile.prune_tokens import prune_tokens
from tilec.lowering.tile.remove_dead import remove_dead
from tilec.lowering.tile.simplify import simplify
from tilec.lowering.tile.simplify_control import simplify_control
from tilec.lowering.tile.split_loops import split_loops
from tilec.process.recursion_limit import deep_recursion


@dataclass(frozen=True)
class TilePass:
    """A pass that changes a module in place, and what it does in one line."""

    summary: str
    run: Callable[[ir.Module, Evaluate], None]


def _upstream(pipeline: str) -> Callable[[ir.Module, Evaluate], None]:
    return lambda module, _: passmanager.PassManager.parse(f"builtin.module({pipeline})").run(module.operation)


def _plain(run: Callable[[ir.Module], None]) -> Callable[[ir.Module, Evaluate], None]:
    """A pass that evaluates nothing."""
    return lambda module, _: run(module)


PASSES: dict[str, TilePass] = {
    "canonicalize": TilePass("MLIR: removes dead operations and simplifies regions", _upstream("canonicalize")),
    "cse": TilePass("MLIR: common subexpressions once", _upstream("cse")),
    "fold-constants": TilePass("operations on constants become constants, where they are exact", fold_constants),
    "simplify": TilePass("fold-constants, with identities that change no bit", simplify),
    "simplify-control": TilePass(
        "branches always taken, loops of one turn or none, values carried for nothing", _plain(simplify_control)
    ),
    "hoist-invariants": TilePass("what a loop computes alike each time moves before it", _plain(hoist_invariants)),
    "prune-tokens": TilePass("tokens that order nothing go", _plain(prune_tokens)),
    "remove-dead": TilePass("what gives nothing that is used goes, weak loads too", _plain(remove_dead)),
    "mark-inbounds": TilePass("accesses to tiles that lie inside of their tensor say so", _plain(mark_inbounds)),
    "split-loops": TilePass(
        "loops end where their masks cease to hold everywhere, and go on in a second one", _plain(split_loops)
    ),
    "annotate-analysis": TilePass(
        "beside each value what is known of it: runs, equal elements, divisors, bounds", _plain(annotate_analysis)
    ),
    "fuse-fma": TilePass("products fuse into sums, with one rounding for two: changes results", _plain(fuse_fma)),
}

# What compiling runs: nothing that changes a result.
DEFAULT = (
    "canonicalize", "simplify", "simplify-control", "simplify", "cse", "hoist-invariants", "prune-tokens",
    "remove-dead",
)  # fmt: skip


@deep_recursion()
def run(module: ir.Module, names: tuple[str, ...] = DEFAULT, *, evaluate: Evaluate) -> ir.Module:
    """The module itself after the passes; `evaluate` says what operations on constants give.

    Raises KeyError for an unknown name.
    """
    with module.context:
        for name in names:
            PASSES[name].run(module, evaluate)
    return module
