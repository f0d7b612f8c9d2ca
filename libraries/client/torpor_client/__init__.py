"""What the command line and the page share: names of runs, changes with previews, lists, logs, schedules. Pure.

Must not do I/O, read a clock or render text for a terminal. Imports only the standard library, `torpor_wire` and
`torpor_views`, since a command line starts with it.
"""
