"""Runs triggers: scheduling, execution, timers, progress."""
