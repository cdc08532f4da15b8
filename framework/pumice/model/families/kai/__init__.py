"""How KAI's objects become tasks, jobs and node rows."""
