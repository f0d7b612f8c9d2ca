"""The asynchronous client of the Kubernetes API."""
