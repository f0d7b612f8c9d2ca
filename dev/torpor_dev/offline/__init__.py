"""Builds Kubernetes and its images on machines without an image registry."""
