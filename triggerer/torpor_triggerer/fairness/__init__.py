"""Shares scarce resources of the process between namespaces."""
