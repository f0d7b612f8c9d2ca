"""A sensor with a trigger for its wait: where it is deferrable, its pod looks once and the triggerer from then on."""

from typing import Any
from urllib.request import urlopen

from torpor import BaseSensor, Context
from torpor.triggers import Http

_ANSWER_WITHIN = 10


class KeySensor(BaseSensor):
    """Waits until there is something at `url`, which it returns; the other arguments are every sensor's."""

    def __init__(self, *, url: str, **of_every_sensor: Any) -> None:
        super().__init__(**of_every_sensor)
        self.url = url

    def poke(self, context: Context) -> bool:
        """Whether it is there; no answer and an answer like 404 both mean: not yet."""
        try:
            with urlopen(self.url, timeout=_ANSWER_WITHIN) as answer:  # noqa: S310 - the workflow's author gives it
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except OSError:
            return False

    def execute(self, context: Context, event: object = None) -> str:
        """Give the pod back unless the key is there already; not deferrable, sleep and look again in it."""
        if self.deferrable and not self.poke(context):
            trigger = Http(self.url, interval=self.poke_interval)
            self.defer(trigger=trigger, method_name="execute_complete", timeout=self.timeout)
        super().execute(context, event)
        return self.url

    def execute_complete(self, context: Context, event: Any) -> str:
        """In a new pod, after the trigger has fired."""
        return self.url
