"""How namespaces share the event loop, threads, memory and connections of the process."""
