"""GPUs of nodes, for several plugins."""
