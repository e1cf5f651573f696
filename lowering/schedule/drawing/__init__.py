"""Schedules as charts, in text and as SVG. Imports the schedule."""
