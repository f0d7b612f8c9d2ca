"""The HTTP side of the page's server: middleware, Server-Sent Events, static files."""
