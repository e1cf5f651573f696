"""The attributes that operations of any dialect have in a kernel, besides the ids (ids.py)."""

from __future__ import annotations

from tilec.dialect.tile_gpu.namespace import PREFIX

# The role that computes an operation of threads, if several roles compute.
ROLE = f"{PREFIX}role"
# The iterations between an operation and the loop around it, and those that this loop has less.
ITERATIONS_AHEAD = f"{PREFIX}iterations_ahead"
# Where a schedule has an operation of a loop (schedule.py).
SCHEDULE = f"{PREFIX}schedule"
# The iterations that a loop with a schedule executes together.
ROUNDS = f"{PREFIX}rounds"
# The copies of the body that a loop has in PTX.
REPEATS = f"{PREFIX}repeats"
# The iterations of a loop that the cost model assumes if its bounds do not tell them.
ASSUMED_ITERATIONS = f"{PREFIX}assumed_iterations"
