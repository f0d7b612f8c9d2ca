"""Shares what is scarce between namespaces and callers: transfers, and questions to the API server."""
