"""An example of Torpor: a trigger class that Torpor does not have, run by triggerers of a pool of its own.

`dns` is registered with those triggerers by examples/own-trigger/pool; a workflow names it and gives its arguments.
"""
