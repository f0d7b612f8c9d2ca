"""Large results and finished runs, in SQL (adr/0012): a server of HTTP over TLS beside the operator and the triggerers.

Decisions about who may do what, and what a body must look like, are pure functions; I/O is in modules of its own. It
changes no object of Torpor's: what a TaskRun says of its result, the pod writes itself.
"""
