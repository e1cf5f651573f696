"""The kernel that main.c launches, compiled ahead of time."""

import tilec as ct


@ct.signatures("a: f32[?], b: f32[?], c: f32[?], tile=1024")
@ct.kernel
def vector_add(a, b, c, tile: ct.Constant[int]):
    block = (ct.bid(0),)
    ct.store(c, block, ct.load(a, block, (tile,)) + ct.load(b, block, (tile,)))
