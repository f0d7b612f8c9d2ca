"""What a triggerer's process says of itself over its health port."""

import urllib.error
import urllib.request
from typing import Any

from prometheus_client.parser import text_string_to_metric_families


def ask(replica: Any, path: str, seconds: float = 180.0) -> tuple[int, str]:
    """Status and text. Raises TimeoutError where nobody answers in time."""
    port = replica.text().partition("health on port ")[2].partition("\n")[0]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as complaint:
        return complaint.code, complaint.read().decode()


def total(replica: Any, name: str, **labels: str) -> float:
    """The sum over all samples of that name with these labels."""
    status, text = ask(replica, "/metrics")
    assert status == 200, text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )
