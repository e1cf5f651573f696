"""Host memory at its real addresses: accesses of tiles, invalid pointers, and the order of accesses."""
