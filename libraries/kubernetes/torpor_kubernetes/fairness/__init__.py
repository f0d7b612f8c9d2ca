"""How namespaces share what is scarce: writes, Events, slots. No I/O."""
