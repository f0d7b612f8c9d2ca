"""The HTTP server: listener, middleware, routes and health endpoints."""
