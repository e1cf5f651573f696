"""What a kernel does wrong while it runs."""

from __future__ import annotations


class Fault(Exception):
    """The kernel broke a rule; the machine adds the user's line and the tile block."""
