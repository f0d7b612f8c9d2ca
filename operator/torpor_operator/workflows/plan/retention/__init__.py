"""How long a finished run keeps its archived copy, its logs, its pods, and itself. Pure."""
