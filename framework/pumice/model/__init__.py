"""The cluster model: facts, resources, tasks, jobs, queues, the node table and topology."""
