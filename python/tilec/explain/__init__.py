"""Reports that explain a compiled kernel."""
