"""What Kubernetes means by label selectors and node affinity."""
