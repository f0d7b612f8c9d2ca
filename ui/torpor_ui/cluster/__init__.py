"""The API server and the archive, as the caller may read them."""
