"""The contract of all components: states, transitions, names and retries. Standard library only.

The operator, the triggerer and task pods do not call each other: they communicate through the status of a TaskRun. This
package contains what they share: states, transitions, names, hashes and status patches. It has no I/O, no clock and no
randomness. A task pod imports it before the user's code, so it imports little.
"""
