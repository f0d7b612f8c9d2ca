"""Tree, timeline, counts and causes of a run, from the JSON of its objects. Pure.

All input is JSON as the API server or the archive sends it, and all output is data. Must not do I/O, read a clock or
render text for a terminal. Imports only the standard library and `torpor_wire`, since a command line starts with it.
"""
