"""Assembly of PTX to cubins."""
