"""The process of a task pod: claims its TaskRun, runs the task, reports the outcome.

Each step is a module. `main` joins them and is the only one that reads the environment, the clock and the network. All
of this is imported before the user's code, so it avoids asyncio, logging, dataclasses and http.client: start-up time is
a guarantee (docs/design/figures.md).
"""
