"""What one thread of a role issues: the PTX says that it is one elected lane of one warp, and which warp that is."""

from __future__ import annotations

import re

import pytest

import tilec as ct

SIGNATURE = "A: f16[?,?], B: f16[?,?], C: f16[?,?], tm=128, tn=128, tk=64"
ISSUED = (
    "mbarrier.init",
    "fence.mbarrier_init",
    "mbarrier.arrive.expect_tx",
    "cp.async.bulk",
    "tcgen05.mma",
    "tcgen05.commit",
)
_ELECTION = re.compile(r"elect\.sync _\|(%p\d+), 0xffffffff;")
_BRANCH = re.compile(r"@!(%p\d+) bra(?:\.uni)? ")


@ct.kernel
def matmul(A, B, C, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(A, 1, (tm, tk))):
        acc = ct.mma(ct.load(A, (ct.bid(0), k), (tm, tk)), ct.load(B, (k, ct.bid(1)), (tk, tn)), acc)
    ct.store(C, (ct.bid(0), ct.bid(1)), acc.astype(C.dtype))


@pytest.fixture(params=["sm_100a", "sm_90a"])
def target(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["roles", "one-role"])
def lines(request, target):
    compiled = ct.compile(matmul, target=target, signature=SIGNATURE, hints={"roles": request.param}, stop="ptx")
    return [line.split("//")[0].strip() for line in compiled.ptx.splitlines()]


def test_what_one_thread_issues_has_the_predicate_of_an_election(lines):
    elected, seen = set(), set()
    for line in lines:
        if found := _ELECTION.fullmatch(line):
            elected.add(found[1])
        for instruction in ISSUED:
            if instruction in line:
                seen.add(instruction)
                predicate = re.match(r"@(%p\d+) ", line)
                assert predicate is not None and predicate[1] in elected, line
    assert {"mbarrier.init", "mbarrier.arrive.expect_tx", "cp.async.bulk"} <= seen


def test_a_warp_of_several_elects_only_after_a_branch_to_it(lines):
    """The warp number is that of lane 0, which ptxas knows to be one number for the warp."""
    warp = next(found[1] for line in lines if (found := re.match(r"shfl\.sync\.idx\.b32 (%r\d+), %r\d+, 0, 31,", line)))
    elections = [number for number, line in enumerate(lines) if _ELECTION.fullmatch(line)]
    comparison = re.compile(rf"setp\.eq\.s32 (%p\d+), {warp}, 0;")
    first_warp = next(found[1] for line in lines if (found := comparison.fullmatch(line)))
    branches = [number for number, line in enumerate(lines) if (b := _BRANCH.match(line)) and b[1] == first_warp]
    assert elections[0] - 1 in branches


def test_roles_are_chosen_by_the_number_of_the_warp(target):
    ptx = ct.compile(matmul, target=target, signature=SIGNATURE, stop="ptx").ptx
    (warp,) = re.findall(r"shfl\.sync\.idx\.b32 (%r\d+), %r\d+, 0, 31, 0xffffffff;", ptx)
    assert re.search(rf"setp\.lt\.s32 %p\d+, {warp}, 4;", ptx)
    assert len(re.findall(r"shr\.u32 %r\d+, %r\d+, 5;", ptx)) == 1


def test_kernel_without_elected_instructions_has_no_elect(target):
    @ct.kernel
    def doubled(X, Y):
        ct.store(Y, (0,), ct.load(X, (0,), (128,)) * 2)

    ptx = ct.compile(doubled, target=target, signature="X: f32[?], Y: f32[?]", stop="ptx").ptx
    assert "elect.sync" not in ptx and "shfl.sync" not in ptx
