"""What differs between jobs, queues and nodes of Volcano and of KAI."""
