"""Creates runs and changes them: manifests, params, and clears."""
