"""Dynamic resource allocation: resource claims, the devices of nodes, and CEL selectors."""
