"""The services that triggers use: HTTP, Kubernetes objects, clients, threads."""
