"""Attributes log lines to TaskRuns and redacts secrets."""
