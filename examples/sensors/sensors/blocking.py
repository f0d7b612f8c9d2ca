"""A sensor of the classic kind: its pod asks, sleeps and asks again, and is held for as long as that takes."""

import time
from urllib.request import urlopen

from torpor import BaseOperator, Context

_ANSWER_WITHIN = 10


class KeySensor(BaseOperator):
    """Waits until there is something at `url`, looking every `poke_interval` seconds; the result is the url."""

    def __init__(self, *, url: str, poke_interval: float = 10) -> None:
        super().__init__()
        self.url = url
        self.poke_interval = poke_interval

    def poke(self) -> bool:
        """Whether it is there; no answer and an answer like 404 both mean: not yet."""
        try:
            with urlopen(self.url, timeout=_ANSWER_WITHIN) as answer:  # noqa: S310 - the workflow's author gives it
                return bool(answer.status == 200)  # noqa: PLR2004 - OK
        except OSError:
            return False

    def execute(self, context: Context) -> str:
        """Hold the pod until it is there."""
        while not self.poke():
            time.sleep(self.poke_interval)
        return self.url
