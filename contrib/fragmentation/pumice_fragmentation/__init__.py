"""Placement policies against GPU fragmentation, and the protocol that compares them."""

from pumice_fragmentation.usability import Fragmentation

__all__ = ["Fragmentation"]
