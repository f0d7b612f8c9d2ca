"""An example of a workflow in Python: its tasks, and the function that puts them together."""
