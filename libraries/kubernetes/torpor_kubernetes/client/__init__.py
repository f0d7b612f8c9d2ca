"""The asynchronous HTTP client of the Kubernetes API, its errors, Leases and Events."""
