"""An example of a custom trigger, run by a triggerer pool of its own.

examples/own-trigger/pool registers `dns` with its triggerers. A workflow uses it by that name.
"""
