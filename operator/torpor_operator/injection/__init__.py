"""How the runtime gets into pods (ADR 0037): the decision, and what the cluster supports."""
