"""What the operator exports about itself and about runs: metrics and traces. Decides nothing about a run."""
