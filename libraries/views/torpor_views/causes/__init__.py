"""The causes for which a run, a task or an instance does not go on. `torpor_views.why` combines them. Pure."""
