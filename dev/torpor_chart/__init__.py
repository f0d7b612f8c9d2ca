"""Writes the Helm chart from the kustomizations in `manifests`, so that both install the same objects (ADR 0067)."""
