"""Stores large results, finished runs and logs in SQL, behind HTTPS (ADR 0012).

Access decisions and body validation are pure functions; I/O has its own modules. The archive changes no Torpor object:
the pod writes the reference to its result into the TaskRun's status.
"""
