"""Node queries: which nodes fit a task and how they score, cached by task class."""
