"""The passes over Tile IR by name, and the default pipeline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from tilec.dialect.mlir import ir
from tilec.lowering.tile.divide.count_loops import count_loops
from tilec.lowering.tile.divide.divide_depth import divide_depth
from tilec.lowering.tile.divide.divide_reductions import divide_reductions
from tilec.lowering.tile.divide.divide_stores import SLICE_BYTES, divide_stores
from tilec.lowering.tile.divide.multiply_parts import unbatch_multiplies
from tilec.lowering.tile.divide.roll_loops import roll_loops
from tilec.lowering.tile.divide.split_loops import split_loops
from tilec.lowering.tile.divide.split_rows import split_chains, split_rows
from tilec.lowering.tile.divide.split_tiles import split_tiles
from tilec.lowering.tile.divide.unroll_taps import unroll_taps
from tilec.lowering.tile.expand.expand_block_scaling import expand_block_scaling
from tilec.lowering.tile.expand.expand_packed_views import expand_other_packed_views
from tilec.lowering.tile.expand.expand_sparse import expand_sparse
from tilec.lowering.tile.expand.expand_tilex import expand_im2col_extents, expand_tilex
from tilec.lowering.tile.expand.insert_checks import insert_checks
from tilec.lowering.tile.expand.widen_operands import widen_operands
from tilec.lowering.tile.simplify.annotate_analysis import annotate_analysis
from tilec.lowering.tile.simplify.assume_slices import assume_slices
from tilec.lowering.tile.simplify.compare_positions import compare_positions
from tilec.lowering.tile.simplify.fuse_fma import fuse_fma
from tilec.lowering.tile.simplify.hoist_invariants import hoist_invariants
from tilec.lowering.tile.simplify.mark_inbounds import mark_inbounds
from tilec.lowering.tile.simplify.prune_tokens import prune_tokens
from tilec.lowering.tile.simplify.remove_dead import remove_dead
from tilec.lowering.tile.simplify.simplify import Evaluate, fold_constants, simplify
from tilec.lowering.tile.simplify.simplify_control import simplify_control
from tilec.lowering.upstream_passes import run_upstream
from tilec.process.recursion_limit import deep_recursion
from tilec.process.time_limit import check_time

# The shared memory of a block on each target.
_SHARED_BYTES = 232448
# Called after a pass, with its name.
Observe = Callable[[str, ir.Module], None]


@dataclass(frozen=True)
class TileFacts:
    """The facts about a kernel and its target that passes follow; the plan decides them (lowering/plan/).

    The default values hold for any kernel.

    Attributes:
        splits_chains: whether halves of a product of 256 rows may be computed by threads of their own.
        divides_stores: whether products may be stored in slices of columns: a thread has all columns of its rows.
        slice_bytes: the bytes of these slices in shared memory.
        divides_depth: whether rings have slots for parts of tiles: no hint limits the number of their slots.
        shared_bytes: the shared memory of a block.
    """

    splits_chains: bool = True
    divides_stores: bool = True
    slice_bytes: int = SLICE_BYTES
    divides_depth: bool = False
    shared_bytes: int = _SHARED_BYTES

    @property
    def ring_bytes(self) -> int:
        """The shared memory of a block beside a slice that is stored."""
        return self.shared_bytes - self.slice_bytes


# The facts that hold for any kernel.
UNKNOWN = TileFacts()


@dataclass(frozen=True)
class TileContext:
    """The arguments of passes beside the module: a function that computes operations on constants, and facts."""

    evaluate: Evaluate
    facts: TileFacts = UNKNOWN


@dataclass(frozen=True)
class TilePass:
    """A pass over Tile IR.

    Attributes:
        function: changes a module in place; the first argument is the module.
        argument: the attribute of the TileContext that is the second argument of the function; None for no such one.
        fact: the fact that must be true for a compile to run the pass; None if it always does.
        words: the pass in one line; empty if that is the first line of the file of its function.
    """

    function: Callable[..., object]
    argument: str | None = None
    fact: str | None = None
    words: str = ""

    @property
    def summary(self) -> str:
        """The pass in one line."""
        return self.words or (sys.modules[self.function.__module__].__doc__ or "").strip().splitlines()[0]

    def run(self, module: ir.Module, context: TileContext) -> None:
        """Changes a module in place."""
        self.function(module, *([] if self.argument is None else [attrgetter(self.argument)(context)]))

    def is_enabled(self, facts: TileFacts) -> bool:
        """Whether a compile runs the pass."""
        return self.fact is None or bool(getattr(facts, self.fact))


PASSES: dict[str, TilePass] = {
    "canonicalize": TilePass(
        partial(run_upstream, "canonicalize"), words="MLIR: remove dead operations and simplify regions"
    ),
    "cse": TilePass(partial(run_upstream, "cse"), words="MLIR: eliminate common subexpressions"),
    "assume-slices": TilePass(assume_slices),
    "insert-checks": TilePass(insert_checks),
    "fold-constants": TilePass(fold_constants, "evaluate", words="Folds operations on constants with exact results."),
    "simplify": TilePass(simplify, "evaluate"),
    "count-loops": TilePass(count_loops, "evaluate"),
    "roll-loops": TilePass(roll_loops, "evaluate"),
    "unroll-taps": TilePass(unroll_taps),
    "simplify-control": TilePass(simplify_control),
    "split-loops": TilePass(split_loops, "evaluate"),
    "hoist-invariants": TilePass(hoist_invariants),
    "prune-tokens": TilePass(prune_tokens),
    "remove-dead": TilePass(remove_dead),
    "mark-inbounds": TilePass(mark_inbounds),
    "annotate-analysis": TilePass(annotate_analysis),
    "unbatch-multiplies": TilePass(
        unbatch_multiplies, words="Replaces multiplies of rank 3 by one of rank 2 for each number of the batch."
    ),
    "split-tiles": TilePass(split_tiles),
    "split-rows": TilePass(split_rows),
    "split-chains": TilePass(
        split_chains, fact="splits_chains", words="split-rows, if one of these products needs another one in a loop."
    ),
    "divide-stores": TilePass(divide_stores, "facts.slice_bytes", "divides_stores"),
    "divide-reductions": TilePass(divide_reductions),
    "divide-depth": TilePass(divide_depth, "facts.ring_bytes", "divides_depth"),
    "compare-positions": TilePass(compare_positions),
    "expand-im2col-extents": TilePass(
        expand_im2col_extents, words="Replaces the extents of im2col views by arithmetic on those of their tensors."
    ),
    "expand-packed-views": TilePass(expand_other_packed_views),
    "expand-sparse": TilePass(expand_sparse),
    "expand-tilex": TilePass(expand_tilex),
    "expand-block-scaling": TilePass(expand_block_scaling),
    "widen-operands": TilePass(widen_operands),
    "fuse-fma": TilePass(fuse_fma),
}

# The passes of a compile in order, before and after the plan decides facts; no pass in them changes a result.
WITH_WHOLE_LOOPS = (
    "canonicalize", "expand-im2col-extents", "expand-packed-views", "simplify", "count-loops", "roll-loops",
    "unroll-taps", "simplify-control",
)  # fmt: skip
WITH_PARTS_OF_LOOPS = ("split-loops", "unbatch-multiplies", "split-tiles")
BEFORE_FACTS = (*WITH_WHOLE_LOOPS, *WITH_PARTS_OF_LOOPS)
WITH_FACTS = (
    "split-chains", "divide-stores", "compare-positions", "simplify", "cse", "divide-reductions", "simplify", "cse",
    "hoist-invariants", "prune-tokens", "remove-dead", "divide-depth",
)  # fmt: skip
# The passes after block-scaled multiplies are divided or expanded.
AFTER_EXPANSION = ("simplify", "cse", "hoist-invariants")


def enabled(facts: TileFacts) -> tuple[str, ...]:
    """The passes of WITH_FACTS that a compile runs."""
    return tuple(name for name in WITH_FACTS if PASSES[name].is_enabled(facts))


# The pipeline for any kernel.
DEFAULT = (*BEFORE_FACTS, *enabled(UNKNOWN))


@deep_recursion()
def run(
    module: ir.Module,
    names: tuple[str, ...] = DEFAULT,
    *,
    evaluate: Evaluate,
    facts: TileFacts = UNKNOWN,
    verifies: bool = True,
    observe: Observe = lambda name, module: None,
) -> ir.Module:
    """Runs passes in place, verifies the module and returns it; `evaluate` computes operations on constants.

    `observe` is called with the name of each pass and the module after it; with `verifies=False` a later run verifies.
    Raises KeyError for an unknown name.
    """
    context = TileContext(evaluate, facts)
    with module.context:
        for name in names:
            check_time()
            PASSES[name].run(module, context)
            observe(name, module)
        if verifies:
            module.operation.verify()
    return module
