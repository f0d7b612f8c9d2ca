"""Why a run, a task or an instance does not go on; `torpor_views.why` combines the causes. Pure."""
