"""The next cycle's cluster made from the last one's and what changed."""
