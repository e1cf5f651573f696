"""The table of constants in docs/cost_model.md: `python docs/extensions/constant_table.py`."""

from __future__ import annotations

from tilec.lowering.model import b200
from tilec.lowering.model.constant import Constant
from tilec.lowering.model.constants import CONSTANTS, QUANTITIES


def constant_table() -> str:
    """The rows as the table of docs/cost_model.md; devices with equal entries share a line."""
    lines = ["| constant | unit | device | value | certainty | source |", "|---|---|---|---|---|---|"]
    for quantity in QUANTITIES:
        devices: dict[Constant, list[str]] = {}
        for name, constants in CONSTANTS.items():
            devices.setdefault(constants[quantity.name], []).append(name)
        for constant, names in devices.items():
            named = f"`{quantity.name}`: {quantity.meaning}" if b200.NAME in names else f"`{quantity.name}`"
            cells = (named, quantity.unit, ", ".join(names), f"{constant.value:g}", constant.certainty, constant.source)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(constant_table(), end="")
