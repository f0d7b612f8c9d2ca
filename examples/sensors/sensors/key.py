"""A sensor with its own trigger: a deferrable one checks once in its pod, then in the triggerer."""

from typing import Any
from urllib.request import urlopen

from torpor import BaseSensor, Context
from torpor.triggers import Http

_ANSWER_WITHIN = 10


class KeySensor(BaseSensor):
    """Waits until a URL responds with 200 and returns the URL. Other arguments are those of each sensor."""

    def __init__(self, *, url: str, **of_every_sensor: Any) -> None:
        super().__init__(**of_every_sensor)
        self.url = url

    def poke(self, context: Context) -> bool:
        """Check once. No response and another status both mean "not yet"."""
        try:
            with urlopen(self.url, timeout=_ANSWER_WITHIN) as answer:  # noqa: S310 - the author of the workflow sets it
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except OSError:
            return False

    def execute(self, context: Context, event: object = None) -> str:
        """Defer unless the key exists already; if not deferrable, sleep and check again."""
        if self.deferrable and not self.poke(context):
            trigger = Http(self.url, interval=self.poke_interval)
            self.defer(trigger=trigger, method_name="execute_complete", timeout=self.timeout)
        super().execute(context, event)
        return self.url

    def execute_complete(self, context: Context, event: Any) -> str:
        """Resume in a new pod after the trigger has fired."""
        return self.url
