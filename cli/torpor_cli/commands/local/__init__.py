"""Commands for workflows on this machine, without a cluster."""
