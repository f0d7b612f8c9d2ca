"""The controller of Workflows: takes a snapshot, plans, and executes the plan.

The plan is a pure function of a Workflow, its TaskRuns and their pods. All I/O is in `controller` and `__main__`.
"""
