"""The plan of shared and tensor memory, lives of slots and registers, blocks of an SM. Imports ir and loops."""
