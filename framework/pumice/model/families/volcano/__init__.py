"""How Volcano's objects become jobs and sub-jobs."""
