"""The API server in memory."""
