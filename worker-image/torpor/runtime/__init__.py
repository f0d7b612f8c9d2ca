"""The process of a task pod: claim, run, report.

Each step is a module; `main` joins them and is the only one that reads the environment, the clock and the network. All
of it is imported before the user's code, so it imports neither asyncio nor logging, dataclasses or http.client: the
time from process start to the first line of user code is a promise.
"""
