"""What several plugins read of GPUs."""
