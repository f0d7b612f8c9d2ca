"""What operators read or write in Airflow's context that Torpor does not have. It reads sources, and runs nothing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torpor_airflow.conversion import asset_events, operator_kind

_BETWEEN_ATTEMPTS: Mapping[str, str] = {r"task_state_store": "a task keeps no state between its attempts"}
_LOSSES: Mapping[str, str] = {
    r"asset_state_store": "an asset has no state",
    r"inlet_events": "an asset keeps no events",
    r"triggering_asset_events": "no asset with a DAG of this conversion starts the run",
    r"add_partitions": "the events of an asset have no partitions",
    r"(?<=dag_run\.)partition_(?:key|date)|(?<=context..)partition_key": "a run has no partition",
    r"include_prior_dates(?=\s*=\s*True)": "a task reads the XComs of its own run",
    r"prev_(?:data_interval_start|data_interval_end|start_date|end_date)_success": "the last successful run",
}
_NOTES: Mapping[str, str] = {"outlet_events": "the extra of an asset's event is not kept"}
_TRIGGERING = "triggering_asset_events"
_OUTLETS = "outlet_events"
_SHARED_SIZE = "the events and the XComs of the task together may have 8 kB"


def findings(operator: Any, *, gets_events: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield what the code and the templates of an operator name, and whether it is a loss.

    `gets_events`: whether the run has the events of the assets that started it.
    """
    text = "\n".join(operator_kind.texts(operator))
    kept = {_TRIGGERING} if gets_events else set()
    lost = {**_LOSSES, **_BETWEEN_ATTEMPTS} if operator.retries else _LOSSES
    for names, is_loss in ((lost, True), (_NOTES, False)):
        for pattern, why in names.items():
            found = None if pattern in kept else re.search(rf"\b(?:{pattern})\b", text)
            if found is not None:
                is_event = pattern == _OUTLETS and asset_events.writes_events(operator)
                yield f"{found[0]}: {_SHARED_SIZE if is_event else why}", is_loss
