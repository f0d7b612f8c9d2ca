"""What every part of Torpor agrees on, in the standard library alone.

The operator, the triggerer and a task pod never call each other: they meet in a TaskRun's status. What they must
agree on for that (states, legal edges, names, hashes, the shape of a fenced patch) is here once, and nothing else is:
no I/O, no clock, no randomness. A task pod imports this before the user's code, so its imports are kept few.
"""
