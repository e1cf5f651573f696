"""Random attention of powers of two: a carried maximum, sum and accumulator, in one or two loops, with masks."""

from __future__ import annotations

from dataclasses import dataclass

from multiply_values import ITERATIONS, LARGEST, SMALL, Tile, ValueWriter

# The value of a score that a mask leaves out: the weight is then at least 2 ** -5.
MASKED = -3


@dataclass(frozen=True)
class Attention:
    """The names of the values of an attention: `shape` is rows, width and keys; `earlier` are carried weights.

    Keys that are `shared` are the values, too.
    """

    q: str
    largest: str
    total: str
    acc: str
    shape: tuple[int, int, int]
    earlier: str | None
    shared: bool = False


class AttentionWriter(ValueWriter):
    """Writes attention over floats."""

    def write_attention(self, indent: str, *, is_alone: bool = False) -> None:
        """Its loops, and stores of its accumulator and sums; it is wide if it is all of the kernel."""
        # The rows of 256 are two chains of multiplies.
        rows = self.random.choice((64, 64, 64, 128, 128, 256, 16))
        width = self.random.choice((32, 32, 64, 64, 64, 128, 256 if rows <= 128 else 128))
        keys = self.random.choice((32, 32, 64, 64, 128))
        if is_alone:
            rows, width, keys = self.random.choice((64, 128, 128)), 256, self.random.choice((64, 128))
        q = self.operand(indent, "A", (rows, width), self.random.choice(self.numbers))
        largest, total, acc = (self.name() for _ in range(3))
        self.line(indent, f"{largest} = ct.full(({rows}, 1), {MASKED}, dtype=ct.float32)")
        self.line(indent, f"{total} = ct.full(({rows}, 1), 0, dtype=ct.float32)")
        self.line(indent, f"{acc} = ct.full(({rows}, {width}), 0, dtype=ct.float32)")
        earlier = None if is_alone else self.earlier_weights(indent, rows, keys)
        if self.random.random() < 0.15:
            q = self.find_largest(indent, q, largest, (rows, width, keys))
        is_shared = earlier is None and self.random.random() < (0.6 if is_alone else 0.15)
        state = Attention(q, largest, total, acc, (rows, width, keys), earlier, is_shared)
        for bounds, mask in self.attention_loops():
            j = self.name()
            self.line(indent, f"for {j} in range({bounds}):")
            self.enter(j)
            self.attend(indent + "    ", state, j, mask)
            self.leave_loop()
        result = Tile(acc, (rows, width), "float32", 2 * ITERATIONS * keys * SMALL << 5, self.repeats())
        self.store_tile(indent, result)
        if result.elements <= LARGEST // 2:
            self.tiles.append(result)
        if is_alone and self.random.random() < 0.7:
            return
        sums = self.name()
        self.line(indent, f"{sums} = ct.broadcast_to({total}, ({rows}, 16))")
        self.store_tile(indent, Tile(sums, (rows, 16), "float32", result.bound))

    def find_largest(self, indent: str, q: str, largest: str, shape: tuple[int, int, int]) -> str:
        """A loop of its own for the maximum of scores; returns the queries, which may be computed."""
        rows, width, keys = shape
        if self.random.random() < 0.5:
            q, given = self.name(), q
            text = self.reduced(f"{given}.astype(ct.{self.kind.accumulator}) + 1")
            self.line(indent, f"{q} = {text}.astype(ct.{self.kind.operand})")
        j, inside = self.name(), indent + "    "
        self.line(indent, f"for {j} in range({self.trips()}):")
        self.enter(j)
        k = self.operand(inside, "B", (width, keys), j)
        product = self.reduced(f"ct.mma({q}, {k}, ct.full(({rows}, {keys}), 0, dtype=ct.float32))")
        self.line(inside, f"{largest} = ct.maximum({largest}, ct.max({product}, 1, keepdims=True))")
        self.leave_loop()
        return q

    def attention_loops(self) -> tuple[tuple[str, str], ...]:
        """The bounds of each loop over blocks of keys, and its mask: the last loop often has one, the first seldom."""
        last = self.random.choice(("", "causal", "causal", "length"))
        if self.random.random() < 0.5:
            return ((f"0, {self.trips()}", last),)
        split = self.random.choice(("n0", "n1", f"{self.cell} + 1", self.random.choice(self.numbers)))
        first = "length" if self.random.random() < 0.1 else ""
        return ((f"0, {split}", first), (f"{split}, {ITERATIONS}", last or "causal"))

    def earlier_weights(self, indent: str, rows: int, keys: int) -> str | None:
        """A name of weights that an iteration leaves for the next one, in some kernels."""
        if self.random.random() < 0.8:
            return None
        name = self.name()
        zeros = f"ct.full(({rows}, {keys}), 0, dtype=ct.float32)"
        self.line(indent, f"{name} = {zeros}.astype(ct.{self.kind.operand})")
        return name

    def attend(self, indent: str, state: Attention, j: str, mask: str) -> None:
        """One block of keys."""
        rows, width, keys = state.shape
        scores, peak, p, alpha = (self.name() for _ in range(4))
        places = ("values", "weights", "keys", "end")
        exit_place = self.random.choice(places) if self.random.random() < 0.2 else ""
        if exit_place == "keys":
            self.leave_attention(indent)
        is_early = state.shared or state.earlier is not None or self.random.random() < 0.4
        v = self.operand(indent, "B", (keys, width), j) if is_early else ""
        k = self.name() if state.shared else self.operand(indent, "B", (width, keys), j)
        if state.shared:
            self.line(indent, f"{k} = ct.permute({v}, (1, 0))")
        if state.earlier is not None:
            self.line(indent, f"{state.acc} = ct.mma({state.earlier}, {v}, {state.acc})")
        product = f"ct.mma({state.q}, {k}, ct.full(({rows}, {keys}), 0, dtype=ct.float32))"
        self.line(indent, f"{scores} = {self.reduced(product)}")
        for kind in filter(None, (mask, self.random.choice((*[""] * 6, "length", "causal")))):
            kept = self.kept(kind, j, rows, keys)
            masked = f"ct.full(({rows}, {keys}), {MASKED}, dtype=ct.float32)"
            inside = indent
            if self.random.random() < 0.4:
                # Some iterations have no mask.
                self.line(indent, f"if {self.condition_of_counter()}:")
                inside = indent + "    "
            self.line(inside, f"{scores} = ct.where({kept}, {scores}, {masked})")
        self.line(indent, f"{peak} = ct.maximum({state.largest}, ct.max({scores}, 1, keepdims=True))")
        if exit_place == "weights":
            self.leave_attention(indent)
        self.line(indent, f"{p} = ct.exp2({scores} - {peak})")
        self.line(indent, f"{alpha} = ct.exp2({state.largest} - {peak})")
        self.line(indent, f"{state.total} = {state.total} * {alpha} + ct.sum({p}, 1, keepdims=True)")
        self.line(indent, f"{state.acc} = {state.acc} * {alpha}")
        self.line(indent, f"{state.largest} = {peak}")
        if exit_place == "values":
            self.leave_attention(indent)
        if state.earlier is not None:
            self.line(indent, f"{state.earlier} = {p}.astype(ct.{self.kind.operand})")
        else:
            v = v or self.operand(indent, "B", (keys, width), j)
            self.line(indent, f"{state.acc} = ct.mma({p}.astype(ct.{self.kind.operand}), {v}, {state.acc})")
        if exit_place == "end":
            self.leave_attention(indent)

    def kept(self, mask: str, j: str, rows: int, keys: int) -> str:
        """The condition of the scores that a mask keeps: keys up to the row, or up to a length."""
        step = self.random.choice((16, keys))
        columns = f"{j} * {step} + ct.arange({keys}, dtype=ct.int32)[None, :]"
        if mask == "length":
            length = f"{self.random.choice(self.numbers)} * 16 + {self.random.randrange(2 * keys)}"
            columns = f"ct.broadcast_to({columns}, ({rows}, {keys}))"
            return f"{columns} {self.random.choice(('<', '<='))} {length}"
        first = self.random.choice(("", "", f" + {self.cell} * {rows}", " + n1 * 16", " - 5"))
        return f"ct.arange({rows}, dtype=ct.int32)[:, None]{first} {self.random.choice(('>=', '>'))} {columns}"

    def leave_attention(self, indent: str) -> None:
        self.line(indent, f"if {self.condition()}:")
        self.line(indent, f"    {self.random.choice(('break', 'continue'))}")
