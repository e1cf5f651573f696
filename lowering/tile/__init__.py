"""From Tile IR to Tile IR: passes that know no target, and follow the facts of the plan (passes.py).

Each folder imports only those before it: analysis, simplify, divide, expand.
"""
