"""The built-in plugins, one module each, found through the entry points of this distribution."""
