"""What operators read or write in Airflow's context that Torpor does not have. It reads sources, and runs nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torpor_airflow.conversion import operator_kind

_BETWEEN_ATTEMPTS: Mapping[str, str] = {r"task_state_store": "a task keeps no state between its attempts"}
_LOSSES: Mapping[str, str] = {
    r"asset_state_store": "an asset has no state",
    r"inlet_events|triggering_asset_events": "an asset keeps no events",
    r"add_partitions": "the events of an asset have no partitions",
    r"(?<=dag_run\.)partition_(?:key|date)|(?<=context..)partition_key": "a run has no partition",
    r"include_prior_dates(?=\s*=\s*True)": "a task reads the XComs of its own run",
    r"prev_(?:data_interval_start|data_interval_end|start_date|end_date)_success": "the last successful run",
}
_NOTES: Mapping[str, str] = {r"outlet_events": "the extra of an asset's event is not kept"}


def findings(operator: Any) -> Iterator[tuple[str, bool]]:
    """Yield what the code and the templates of an operator name, and whether it is a loss."""
    text = "\n".join(operator_kind.texts(operator))
    lost = {**_LOSSES, **_BETWEEN_ATTEMPTS} if operator.retries else _LOSSES
    for names, is_loss in ((lost, True), (_NOTES, False)):
        for pattern, why in names.items():
            found = re.search(rf"\b(?:{pattern})\b", text)
            if found is not None:
                yield f"{found[0]}: {why}", is_loss
