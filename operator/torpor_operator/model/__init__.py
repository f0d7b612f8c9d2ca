"""The values that plans are made from, and the actions that they result in. Pure."""
