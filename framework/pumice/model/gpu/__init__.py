"""GPU requests of tasks and shared GPUs of nodes."""
