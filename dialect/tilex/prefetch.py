"""The prefetch of a tile of a view."""

from collections.abc import Sequence

from tilec.dialect.fields import Operand
from tilec.dialect.tilex.namespace import Operation
from tilec.dialect.tilex.sets import ScalarInteger, TiledView
from tilec.dialect.tilex.view_rules import operand_count_problem


class PrefetchOp(Operation, name="prefetch"):
    """Asks for the tile at an index to be brought to the L2 cache; has no other effect, and no order."""

    view: Operand[TiledView]
    index: Sequence[Operand[ScalarInteger]]
    assembly = "$view[$index] attr-dict : type($view)index_types($index)"

    def check_types(self) -> str | None:
        return operand_count_problem("index", self.index, self.view.type.rank)
