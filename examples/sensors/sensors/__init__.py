"""An example that compares a sensor that keeps its pod with the same sensor deferred.

`key` is the sensor, `store` the service that it checks.
"""
