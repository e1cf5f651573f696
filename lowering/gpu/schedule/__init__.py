"""The scheduling problem of each loop, and the passes that give loops another order. Import all other folders."""
