"""The Kubernetes backend of the Pumice scheduler."""
