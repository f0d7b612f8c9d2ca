"""How a run starts: the copies of its template and of the bodies of its tasks, and its defaults. Pure."""
