"""The objects of object tasks: what a manifest may contain, names and marks. Pure."""
