"""The order and the limits of writes, Events and slots by namespace. No I/O."""
