"""The machine code of cubins: its lines, control flow, roles of warps, occupancy, and what is counted in it."""
