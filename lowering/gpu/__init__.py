"""Passes over tile_gpu: kernels of values enter, kernels with channels, roles, rings and register budgets leave.

Each folder imports only those before it: ir, loops, memory, cost, channels, roles, columns, schedule.
"""
