"""Modifiers may be in the orders that ptxas reads: most in any order, others as part of the name."""

from __future__ import annotations

import itertools
import random
import shutil
from pathlib import Path

import pytest
from assemblers import is_supported, program, refusal, refused_by
from instruction_lines import LINES

from tilec.runtime.ptxsim import _native

ACCEPTED = [
    "vote.ballot.sync.b32 %r1, %p1, -1;",
    "vote.b32.ballot.sync %r1, %p1, -1;",
    "vote.any.pred.sync %p2, %p1, -1;",
    "shfl.idx.sync.b32 %r1, %r2, %r3, 31, -1;",
    "shfl.b32.bfly.sync %r1, %r2, %r3, 31, -1;",
    "redux.add.sync.s32 %r1, %r2, -1;",
    "match.sync.any.b32 %r1, %r2, -1;",
    "fence.release.mbarrier_init.cluster;",
    "fence.proxy.shared::cta.async;",
    "fence.proxy.release.gpu.tensormap::generic;",
    "prefetch.param.tensormap [%rd1];",
    "prefetch.tensormap.param [%rd1];",
    "barrier.cta.aligned.sync 1;",
    "barrier.aligned.sync 1;",
    "add.ftz.rn.f32 %f1, %f2, %f3;",
    "ld.v2.global.b32 {%r1, %r2}, [%rd1];",
    "cp.async.ca.shared.global [%r1], [%rd1], 4;",
    "tcgen05.mma.ws.cta_group::1.sp.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;",
    "tcgen05.mma.ashift.cta_group::1.kind::f16 [%r1], [%r3], %rd2, %r2, %p1;",
    "clusterlaunchcontrol.query_cancel.b32.b128.get_first_ctaid::y %r1, %q1;",
    "clusterlaunchcontrol.query_cancel.pred.is_canceled.b128 %p1, %q1;",
]
REFUSED = {
    "mul.u32.wide %rd1, %r2, %r3;": ".wide directly after 'mul'",
    "mad.s32.hi %r1, %r2, %r3, %r4;": ".hi directly after 'mad'",
    "div.f32.full %f1, %f2, %f3;": ".full directly after 'div'",
    "shf.wrap.l.b32 %r1, %r2, %r3, %r4;": ".l directly after 'shf'",
    "cvta.shared.to.u64 %rd1, %rd2;": ".to directly after 'cvta'",
    "setmaxnreg.sync.aligned.inc.u32 64;": ".inc directly after 'setmaxnreg'",
    "bar.sync.cta 1;": ".cta directly after 'bar'",
    "bar.cta.popc.red.u32 %r1, 1, %p1;": ".red directly after 'bar.cta'",
    "barrier.cta.aligned.arrive 1, 64;": ".arrive directly after 'barrier.cta'",
    "mbarrier.try_wait.shared::cta.parity.b64 %p1, [%r1], %r2;": ".parity directly after 'mbarrier.try_wait'",
    "mbarrier.arrive.b64.expect_tx _, [%r1], 16;": ".expect_tx directly after 'mbarrier.arrive'",
    "tcgen05.mma.sp.ws.cta_group::1.kind::f16 [%r1], %rd1, %rd2, [%r3], %r2, %p1;": ".ws directly after 'tcgen05.mma'",
    "clusterlaunchcontrol.try_cancel.b128.async.mbarrier::complete_tx::bytes [%rd1], [%rd2];": (
        ".async directly after 'clusterlaunchcontrol.try_cancel'"
    ),
    "clusterlaunchcontrol.query_cancel.is_canceled.b128.pred %p1, %q1;": ".pred before .b128",
    "cp.async.ca.global.shared [%r1], [%rd1], 4;": ".shared before .global",
    "cp.async.bulk.shared::cta.global.bulk_group [%rd1], [%r1], 16;": ".global before .shared::cta",
    "createpolicy.fractional.L2::evict_first.L2::evict_last.b64 %rd1;": "as second priority",
    "slct.s32.u32 %r1, %r2, %r3, %r4;": "selects by a value of type .s32 or .f32",
    "cvt.pack.s32.sat.u8.b32 %r1, %r2, %r3, %r4;": "cvt.pack",
}


@pytest.mark.parametrize("line", ACCEPTED)
def test_order_is_accepted(line):
    assert refusal(line, "sm_100a") is None
    assert is_supported(line, "sm_100a")


@pytest.mark.parametrize("line", REFUSED)
def test_order_is_refused(line):
    with pytest.raises(_native.PtxError) as caught:
        program(line, "sm_100a")
    assert REFUSED[line] in caught.value.message


def test_vote_of_either_order_has_the_same_result(over_lanes):
    """CUB writes vote.ballot.sync. Lanes 0 to 6 are below 7."""
    for name in ("vote.ballot.sync.b32", "vote.sync.ballot.b32"):
        assert (over_lanes(f"setp.lt.u32 %p1, %r0, 7; {name} %r1, %p1, 0xffffffff;") == 0x7F).all()


def orders(line: str, generator: random.Random) -> list[str]:
    """Other orders of the modifiers: all of up to four; else each modifier at each position, and ten at random."""
    name, _, operands = line.rstrip(";").partition(" ")
    mnemonic, *modifiers = name.split(".")
    if len(modifiers) <= 4:
        found = set(itertools.permutations(modifiers))
    else:
        found = {tuple(generator.sample(modifiers, len(modifiers))) for _ in range(10)}
        for source, target in itertools.permutations(range(len(modifiers)), 2):
            moved = list(modifiers)
            moved.insert(target, moved.pop(source))
            found.add(tuple(moved))
    return [f"{'.'.join([mnemonic, *order])} {operands};" for order in sorted(found - {tuple(modifiers)})]


@pytest.mark.peers
@pytest.mark.parametrize("target", ["sm_100a", "sm_90a"])
def test_ptxas_accepts_the_same_orders(target, tmp_path):
    """Of the lines that the simulator executes."""
    ptxas, generator = shutil.which("ptxas"), random.Random(1)
    assert ptxas
    lines = [line for line in LINES if target in LINES[line] and is_supported(line, target)]
    for pair in (False, True):
        changed = [order for line in lines if ("cta_group::2" in line) == pair for order in orders(line, generator)]
        refused = refused_by(Path(ptxas), changed, target, tmp_path / "orders.ptx")
        assert refused or pair
        assert [
            order
            for order in changed
            if (refusal(order, target) is None and is_supported(order, target)) == (order in refused)
        ] == []
