"""The shell of the operator: all I/O, and the reconcile loop."""
