"""The same sensor, deferrable: what has to be changed is `execute`, and the import of whoever uses it."""

from typing import Any

from torpor import Context
from torpor.triggers import Http

from sensors.blocking import KeySensor


class KeySensorAsync(KeySensor):
    """Gives its pod back unless the key is there already; a triggerer looks from then on."""

    def execute(self, context: Context) -> str:
        """Look once, then defer."""
        if not self.poke():
            trigger = Http(self.url, interval=self.poke_interval)
            self.defer(trigger=trigger, method_name="execute_complete")
        return self.url

    def execute_complete(self, context: Context, event: Any) -> str:
        """In a new pod, after the trigger has fired."""
        return self.url
