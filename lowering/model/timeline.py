"""The cycles of an iteration of a loop whose roles run concurrently, each executing its actions in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

# Iterations that are executed, and those at the end whose mean is the result: rings are full by then.
_ITERATIONS = 48
_MEASURED = 24


class Side(Enum):
    """The side of a channel: its slots are full for the consumer, and empty for the producer."""

    FULL = "full"
    EMPTY = "empty"

    # Members are equal only to themselves; that of enum.Enum is a function in Python.
    __hash__ = object.__hash__


@dataclass(frozen=True)
class Busy:
    """The role executes instructions for these cycles."""

    cycles: float


@dataclass(frozen=True)
class Wait:
    """The role waits until the next slot of a channel is full or empty; consumers of a channel count for themselves."""

    channel: str
    side: Side
    consumer: int = 0


@dataclass(frozen=True)
class Signal:
    """The role makes a slot full or empty, with multiplies once those that it has issued are complete.

    A slot is empty once all consumers that signal it have done so.
    """

    channel: str
    side: Side
    after_multiplies: bool = False
    consumer: int = 0


@dataclass(frozen=True)
class Load:
    """A load makes the slot of a channel full after its latency; loads share a port for `port_cycles` each."""

    channel: str
    latency_cycles: float
    port_cycles: float


@dataclass(frozen=True)
class Multiply:
    """The tensor pipe is busy for these cycles, and the result is complete after the latency."""

    cycles: float
    latency_cycles: float


@dataclass(frozen=True)
class AwaitMultiplies:
    """The role waits until its multiplies are complete, except the newest `pending` ones."""

    pending: int = 0


Action = Busy | Wait | Signal | Load | Multiply | AwaitMultiplies
_ON_SLOTS = (Wait, Signal)


class _Machine:
    """The times at which slots become full and empty, and the units are free."""

    def __init__(
        self,
        roles: Sequence[Sequence[Action]],
        stages: Mapping[str, int],
        filled: Mapping[str, int],
        taken: Mapping[tuple[str, int], int],
        barrier_cycles: float,
    ) -> None:
        self.stages, self.taken = stages, taken
        # A consumer that is ahead needs slots of later iterations.
        self.iterations = _ITERATIONS + max(taken.values(), default=0)
        self.barrier_cycles = barrier_cycles
        self.pipe_free = self.port_free = 0.0
        # The actions of units that several roles use: these are served in the order of their requests.
        kinds = Counter(kind for actions in roles for kind in set(map(type, actions)) & {Multiply, Load})
        self.shared = {kind for kind, count in kinds.items() if count > 1}
        self.signals = 0
        self.times: dict[tuple[str, Side], list[float]] = defaultdict(list)
        # When each consumer has released its slots.
        self.released: defaultdict[str, dict[int, list[float]]] = defaultdict(dict)
        for each in (each for actions in roles for each in actions if isinstance(each, Signal)):
            if each.side is Side.EMPTY:
                number = taken.get((each.channel, each.consumer), 0)
                self.released[each.channel][each.consumer] = [0.0] * number
        for channel, count in filled.items():
            self.times[channel, Side.FULL] += [0.0] * count
        for channel, count in stages.items():
            released = min((len(times) for times in self.released[channel].values()), default=0)
            self.times[channel, Side.EMPTY] += [0.0] * (count + released - filled.get(channel, 0))

    def run(self, actions: Sequence[Action], ends: list[float]) -> Iterator[float | None]:
        """Executes the iterations of a role, and adds the time after each to `ends`.

        Yields its time before each action of a unit that roles share, and None while it waits for another role.
        """
        now = 0.0
        # When each multiply of the role is complete, in the order of issue.
        multiplied = [0.0]
        numbers: dict[Wait, int] = {}
        # Looked up once: the cycles of work, the times of the slots of a wait or a signal, the number of a wait, and
        # whether a signal is one of several consumers.
        steps = [
            (
                each.cycles if isinstance(each, Busy) else None,
                self.times[each.channel, each.side] if isinstance(each, _ON_SLOTS) else None,
                numbers.setdefault(each, len(numbers)) if isinstance(each, Wait) else None,
                isinstance(each, Signal) and each.side is Side.EMPTY and len(self.released[each.channel]) > 1,
                each,
            )
            for each in actions
        ]
        taken = [self.taken.get((each.channel, each.consumer), 0) if each.side is Side.FULL else 0 for each in numbers]
        loaded: dict[str, float] = {}
        barrier_cycles = self.barrier_cycles
        for _ in range(self.iterations):
            for cycles, times, wait, is_release, action in steps:
                if cycles is not None:
                    now += cycles
                elif times is None:
                    if type(action) in self.shared:
                        yield now
                    now = self._execute(action, now, loaded, multiplied)
                elif wait is not None:
                    number = taken[wait]
                    while len(times) <= number:
                        yield None
                    if times[number] > now:
                        now = times[number]
                    taken[wait] = number + 1
                elif isinstance(action, Signal):
                    time = now
                    if action.after_multiplies and multiplied[-1] > now:
                        time = multiplied[-1]
                    if loaded and action.side is Side.FULL:
                        time = max(time, loaded.pop(action.channel, 0.0))
                    self.signals += 1
                    if is_release:
                        self._release(action, time + barrier_cycles)
                    else:
                        times.append(time + barrier_cycles)
            ends.append(now)

    def _release(self, action: Signal, time: float) -> None:
        """Notes a release by one of several consumers; the last one makes the slot empty."""
        released = self.released[action.channel]
        number = len(released[action.consumer])
        released[action.consumer].append(time)
        if all(len(times) > number for times in released.values()):
            latest = max(times[number] for times in released.values())
            self.times[action.channel, Side.EMPTY].append(latest)

    def _execute(self, action: Action, now: float, loaded: dict[str, float], multiplied: list[float]) -> float:
        """The time after an action of a unit, or a wait for multiplies of the role."""
        if isinstance(action, AwaitMultiplies):
            return max(now, multiplied[max(0, len(multiplied) - 1 - action.pending)])
        if isinstance(action, Multiply):
            self.pipe_free = max(now, self.pipe_free) + action.cycles
            multiplied.append(self.pipe_free + action.latency_cycles)
        elif isinstance(action, Load):
            self.port_free = max(now, self.port_free) + action.port_cycles
            complete = self.port_free + action.latency_cycles
            loaded[action.channel] = max(loaded.get(action.channel, 0.0), complete)
        return now


def interval_cycles(
    roles: Sequence[Sequence[Action]],
    stages: Mapping[str, int],
    filled: Mapping[str, int],
    barrier_cycles: float,
    taken: Mapping[tuple[str, int], int] | None = None,
) -> float | None:
    """The cycles between two iterations of the slowest role; None if the roles deadlock.

    Args:
        roles: the actions of an iteration, of each role.
        stages: the slots of each channel.
        filled: slots that are filled before the first iteration.
        barrier_cycles: from a signal until the waiting role continues.
        taken: by channel and consumer, slots that the consumer has used and released before the first iteration.
    """
    machine = _Machine(roles, stages, filled, taken or {}, barrier_cycles)
    ends = [list[float]() for _ in roles]
    waiting = {number: machine.run(actions, ends[number]) for number, actions in enumerate(roles)}
    # The roles that request a unit: the one that does so first is served.
    requests: dict[int, tuple[float, Iterator[float | None]]] = {}
    signals = -1
    while True:
        if machine.signals != signals:
            signals = machine.signals
            runnable = list(waiting.items())
        elif requests:
            number = min(requests, key=lambda each: requests[each][0])
            runnable = [(number, requests.pop(number)[1])]
        else:
            break
        for number, role in runnable:
            waiting.pop(number, None)
            # A role that has ended yields nothing.
            for time in role:
                if time is None:
                    waiting[number] = role
                else:
                    requests[number] = time, role
                break
    if any(len(each) < _ITERATIONS for each in ends):
        return None
    measured = ((each[_ITERATIONS - 1] - each[_ITERATIONS - 1 - _MEASURED]) / _MEASURED for each in ends)
    return max(*measured, *_unit_cycles(roles))


def least_cycles(roles: Sequence[Sequence[Action]]) -> float:
    """A lower bound of the cycles between two iterations, with channels of any number of slots: no role waits."""
    busy = (sum(action.cycles for action in actions if isinstance(action, Busy)) for actions in roles)
    return max(*busy, *_unit_cycles(roles))


def _unit_cycles(roles: Sequence[Sequence[Action]]) -> tuple[float, float]:
    """The cycles of an iteration on the tensor pipe and on the port of loads, of which deep rings measure too few."""
    actions = [action for role in roles for action in role]
    pipe = sum(action.cycles for action in actions if isinstance(action, Multiply))
    return pipe, sum(action.port_cycles for action in actions if isinstance(action, Load))
