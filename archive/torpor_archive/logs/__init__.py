"""Keeps the logs of pods and of waits."""
