"""The operator: plans runs, creates TaskRuns and pods, and writes the status of every kind.

A plan is a pure function of an object, its TaskRuns and their pods. I/O is in `controller`, and for each kind in the
modules beside its `plan`.
"""
