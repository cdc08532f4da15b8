"""Filters and scores that mean what kube-scheduler's mean."""
