"""Access to the API server: client, Lease, cache, and the shares of namespaces."""
