"""The release: the version in every file, images for two processors, and what proves their origin (ADR 0068)."""
