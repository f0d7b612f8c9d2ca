"""Runs triggers: scheduler, timers, execution, shared triggers, progress."""
