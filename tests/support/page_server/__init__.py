"""The server of the page on loopback, and a client that does what a browser does with it."""
