"""The API client, Leases, the cache of objects, and how namespaces share the API."""
