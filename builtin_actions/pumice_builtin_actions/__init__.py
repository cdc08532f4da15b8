"""The built-in actions, one module each, found through the entry points of this distribution."""
