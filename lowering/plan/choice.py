"""A choice of the plan: a number, the reason, and the candidate that would have been next."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """A chosen number.

    Attributes:
        value: the number.
        reason: why it is chosen; empty if a kernel has no other candidate.
        runner_up: the next candidate; empty if there is none.
    """

    value: int
    reason: str = ""
    runner_up: str = ""
