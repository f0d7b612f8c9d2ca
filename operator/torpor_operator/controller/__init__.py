"""The shell of the operator: the reconcile loop and all I/O."""
