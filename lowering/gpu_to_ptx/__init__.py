"""From tile_gpu to ptx: a kernel with channels enters, an entry of PTX instructions and its launch record leave.

Operations are lowered by functions of the registry, one file per op group. Each folder imports only those before it:
registers, memory, arithmetic, tiles, matrix, control.
"""
