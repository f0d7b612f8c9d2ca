"""An example of Torpor: the same sensor written to block and to defer, so that what each costs can be compared.

`blocking` sleeps in its pod, `deferrable` gives the pod back, `store` is what both of them ask.
"""
