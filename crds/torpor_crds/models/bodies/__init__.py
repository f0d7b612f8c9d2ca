"""What a task is instead of a program: an HTTP request."""
