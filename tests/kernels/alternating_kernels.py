"""Persistent kernels: a block multiplies tiles one after the other and stores each.

In ALTERNATING two roles compute alternate tiles on sm_90a; NOT_ALTERNATING has the reason for each other kernel.
"""

import tilec as ct

SIZE, DEPTH = 64, 64
ZERO = ct.PaddingMode.ZERO


@ct.function
def product(A, B, row, steps, rows: ct.Constant[int], columns: ct.Constant[int]):
    """A row of tiles of A times the first columns of B."""
    total = ct.zeros((rows, columns), ct.float32)
    for k in range(steps):
        a = ct.load(A, (row, k), (rows, DEPTH), padding_mode=ZERO)
        total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, columns), padding_mode=ZERO), total)
    return total


@ct.kernel
def products(A, B, C, tiles: int):
    """Each tile has a place of its own."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))


@ct.kernel
def overwritten(A, B, C, tiles: int):
    """Each tile of a block is stored where the one before is."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (ct.bid(0), 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))


@ct.kernel
def summed(A, B, C, tiles: int):
    """Each tile of a block is added to what the ones before have left in memory."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE)
        ct.store(C, (ct.bid(0), 0), ct.load(C, (ct.bid(0), 0), (SIZE, SIZE)) + total)


@ct.kernel
def counted(A, B, C, tiles: int):
    """The first element that a tile stores counts the tiles of its block by an atomic update."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE)
        before = ct.atomic_add(C, (5 * SIZE + ct.bid(0), 0), 1.0, memory_order=ct.MemoryOrder.RELAXED)
        ct.store(C, (tile, 0), total + before)


@ct.kernel
def stored_twice(A, B, C, tiles: int):
    """A tile is stored twice, with a bias that is loaded before the loop; the second store is in half as many bits."""
    bias = ct.load(B, (0, 0), (1, SIZE)).astype(ct.float32)
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE)
        ct.store(C, (tile, 0), total + bias)
        ct.store(C, (tile, 1), ct.maximum(total, 0).astype(ct.float16).astype(ct.float32))


@ct.kernel
def printed(A, B, C, tiles: int):
    """Prints are in the order of the tiles."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE)
        ct.printf("%d ", tile)
        ct.store(C, (tile, 0), total)


@ct.kernel
def from_the_last(A, B, C, tiles: int):
    """The inner loop starts at an argument, and has steps of two."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = ct.zeros((SIZE, SIZE), ct.float32)
        for k in range(tiles - 1, ct.cdiv(A.shape[1], DEPTH), 2):
            total = ct.mma(ct.load(A, (tile, k), (SIZE, DEPTH)), ct.load(B, (k, 0), (DEPTH, SIZE)), total)
        ct.store(C, (tile, 0), total)


@ct.kernel
def tall_products(A, B, C, tiles: int):
    """Tiles of two blocks of rows, which the blocks of a cluster may divide."""
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), 2 * SIZE, SIZE))


ALTERNATING = [products, overwritten, summed, counted, stored_twice, printed, from_the_last]


@ct.kernel
def wide(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), 128, 256))


@ct.kernel
def carried(A, B, C, tiles: int):
    total = ct.zeros((SIZE, SIZE), ct.float32)
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        for k in range(ct.cdiv(A.shape[1], DEPTH)):
            total = ct.mma(ct.load(A, (tile, k), (SIZE, DEPTH)), ct.load(B, (k, 0), (DEPTH, SIZE)), total)
        ct.store(C, (tile, 0), total)


@ct.kernel
def loaded_before(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        before = ct.load(C, (ct.bid(0), 0), (SIZE, SIZE))
        total = product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE)
        ct.store(C, (ct.bid(0), 0), before + total)


@ct.kernel
def stored_inside(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total = ct.zeros((SIZE, SIZE), ct.float32)
        for k in range(ct.cdiv(A.shape[1], DEPTH)):
            total = ct.mma(ct.load(A, (tile, k), (SIZE, DEPTH)), ct.load(B, (k, 0), (DEPTH, SIZE)), total)
            ct.store(C, (ct.bid(0), 1), total)
        ct.store(C, (ct.bid(0), 0), total)


@ct.kernel
def stored_after(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))
    ct.store(C, (ct.bid(0), 1), ct.load(C, (ct.bid(0), 0), (SIZE, SIZE)) + 1)


@ct.kernel
def in_order(A, B, C, tiles: int):
    for tile in range(tiles):
        ct.store(C, (tile, ct.bid(0)), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))


@ct.kernel
def while_loop(A, B, C, tiles: int):
    tile = ct.bid(0)
    while tile < tiles:
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))
        tile += ct.num_blocks(0)


@ct.kernel
def inner_tiles(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        for column in range(2):
            ct.store(C, (tile, column), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))


@ct.kernel
def two_loops(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))
        ct.store(C, (tile, 1), product(A, B, tile, tiles, SIZE, SIZE))


@ct.kernel
def triangle(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, tile, SIZE, SIZE))


@ct.kernel
def tiles_from_memory(A, B, C, tiles: int):
    count = ct.load(A, (0, 0), (1, 1)).item().astype(ct.int32) + 3
    for tile in range(ct.bid(0), count, ct.num_blocks(0)):
        ct.store(C, (tile, 0), product(A, B, tile, ct.cdiv(A.shape[1], DEPTH), SIZE, SIZE))


@ct.kernel
def rows_summed(A, B, C, tiles: int):
    for tile in range(ct.bid(0), tiles, ct.num_blocks(0)):
        total, rows = ct.zeros((SIZE, SIZE), ct.float32), ct.zeros((SIZE, 1), ct.float32)
        for k in range(ct.cdiv(A.shape[1], DEPTH)):
            a = ct.load(A, (tile, k), (SIZE, DEPTH))
            rows = rows + ct.sum(a.astype(ct.float32), 1, keepdims=True)
            total = ct.mma(a, ct.load(B, (k, 0), (DEPTH, SIZE)), total)
        ct.store(C, (tile, 0), total + rows)


NOT_ALTERNATING = {
    wide: "a tile has 8 warps, and an SM has registers for two roles of 4",
    carried: "a tile uses values of the tile before it",
    loaded_before: "a tile accesses memory before its multiplies are complete",
    stored_inside: "a tile accesses memory before its multiplies are complete",
    stored_after: "memory is accessed before or after the loop",
    in_order: "the loop over tiles does not go from the number of the block",
    while_loop: "the loop over tiles is a 'while' loop",
    inner_tiles: "the loop over tiles is inside of another one",
    two_loops: "the multiplies of a tile are not those of one 'for' loop",
    triangle: "the number of multiplies may differ between tiles",
    tiles_from_memory: "the number of tiles comes from memory",
    rows_summed: "not all tiles that TMA loads are operands of its multiplies",
}
