"""Messages and assertions of a running kernel."""

from tilec.dialect.attributes import Text
from tilec.dialect.cuda_tile.operation import Operation
from tilec.dialect.cuda_tile.sets import AnyTile, BoolTile, Token
from tilec.dialect.fields import MANY_RUNS, Mixed, Operand, Result, since

_CONVERSIONS = "diuoxXeEfFgGaAcsSpn"


class AssertOp(Operation, name="assert", opcode=0x05):
    """Reports each element of condition that is false."""

    condition: Operand[BoolTile]
    message: Text
    assembly = "$condition, $message attr-dict : type($condition)"


class PrintTkoOp(Operation, name="print_tko", opcode=0x55):
    """Prints tiles with a format as of C's printf, one directive a tile."""

    result_token: Result[Token] = since("13.2")
    args: Mixed[Operand[AnyTile], MANY_RUNS]
    token: Operand[Token] | None = since("13.2")
    str: Text
    assembly = "$str{, $args}{ token=$token} attr-dict{ : type($args)} -> type($result_token)"

    def check(self) -> str | None:
        directives = directive_count(self.str)
        if directives is None:
            return f"format has a directive without an end: {self.attributes['str']}"
        if directives != len(self.args):
            return f"expected {directives} arguments for the directives of the format, but got {len(self.args)}"
        return None


def directive_count(text: str) -> int | None:
    """How many tiles a format takes, or None where a directive does not end."""
    count, at = 0, text.find("%")
    while at >= 0:
        end = next((i for i in range(at + 1, len(text)) if text[i] in _CONVERSIONS or text[i] == "%"), None)
        if end is None:
            return None
        count += text[end] != "%"
        at = text.find("%", end + 1)
    return count
