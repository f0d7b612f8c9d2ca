"""An example of Torpor: a sensor that holds its pod or gives it back as its user says, so that both can be compared.

`key` is the sensor, `store` is what it asks.
"""
