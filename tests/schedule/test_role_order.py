"""The order of a role in a schedule, and the iterations that its operations are ahead, worked out by hand."""

from __future__ import annotations

from tilec.lowering.schedule.schedule import RoleOrder, Schedule, role_order

# Within an interval of 100 clocks the operations start at 0, 50 and 10; they are 0, 2 and 1 intervals late.
SCHEDULE = Schedule(interval=100, start=(0, 250, 110), role=(0, 0, 0), depth=())


def test_operations_are_ordered_by_their_clock_in_the_interval() -> None:
    """When operation 1 of an iteration starts, operation 0 of the second iteration after it has started."""
    assert role_order(SCHEDULE, 0, (0, 0, 0)) == RoleOrder(operations=(0, 2, 1), advances=(2, 1, 0))


def test_body_begins_so_that_the_fewest_operations_move() -> None:
    """0 at 60 and 1 at 110: in a body that begins with 0 both belong to one iteration."""
    late = Schedule(interval=100, start=(60, 110), role=(0, 0), depth=())
    order = role_order(late, 0, (0, 0))
    assert order == RoleOrder(operations=(0, 1), advances=(0, 0))
    assert order.is_present()


def test_operations_that_are_ahead_move_by_the_difference() -> None:
    assert role_order(SCHEDULE, 0, (1, 0, 0)) == RoleOrder(operations=(0, 2, 1), advances=(1, 1, 0))
    assert role_order(SCHEDULE, 0, (2, 0, 1)) == RoleOrder(operations=(0, 2, 1), advances=(0, 0, 0))


def test_other_roles_do_not_count() -> None:
    divided = Schedule(interval=100, start=(0, 250, 110), role=(0, 1, 0), depth=())
    assert role_order(divided, 0, (0, 0, 0)) == RoleOrder(operations=(0, 2), advances=(1, 0))
    assert role_order(divided, 1, (0, 0, 0)) == RoleOrder(operations=(1,), advances=(0,))
