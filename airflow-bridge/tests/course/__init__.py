"""The commands of the course, run as its page shows them."""
