"""How the runtime gets into pods on this cluster: the decision, and what the cluster says (ADR 0037)."""
