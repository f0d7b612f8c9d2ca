"""How namespaces and callers share transfers and access reviews."""
