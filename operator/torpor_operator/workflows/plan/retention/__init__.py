"""What is kept of a run that has ended, and for how long: its archived copy, its logs, its pods, and itself."""
