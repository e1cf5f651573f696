"""What TMA demands of a tensor map."""
