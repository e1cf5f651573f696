"""The constants of H100 SXM: those of H200 except the memory."""

from __future__ import annotations

from tilec.lowering.model import h200
from tilec.lowering.model.constant import measured

NAME = "H100"
CONSTANTS = h200.CONSTANTS | {"hbm_terabytes_per_second": measured(3.0, "QUACK: 3.0 of 3.35 nominal")}
