"""Passes that divide a kernel among roles, and give the roles registers. Import ir to channels."""
