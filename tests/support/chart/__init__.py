"""The Helm chart in tests."""
