"""The state of converting one entry, and accesses of tiles. Imports access and the plan."""
