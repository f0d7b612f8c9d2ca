"""The parts of `torpor run`: a Workflow, or one of its tasks, without a cluster."""
