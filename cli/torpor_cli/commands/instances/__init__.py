"""Commands that change instances of a run."""
