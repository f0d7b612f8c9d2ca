"""What a user changes: the requests, their preconditions, and what they do. Pure."""
