"""Makes a database of Airflow with waiting triggers, for a triggerer of Airflow. A program of its own.

It must not import `torpor_airflow`, which makes Airflow a library without a database. The input is the JSON
`{"class", "kwargs", "count"}`. In `kwargs`, the moment `{"moment": TEXT}` is a datetime. Each trigger belongs to an
asset, because Airflow deletes a trigger that belongs to nothing.
"""

import json
import sys
from datetime import datetime
from typing import Any


def main() -> None:
    """Create the database of AIRFLOW_HOME, and its triggers."""
    from airflow.utils.db import initdb  # noqa: PLC0415 - after the variables are set

    request = json.load(sys.stdin)
    initdb()
    _insert(request["class"], _arguments(request["kwargs"]), request["count"])


def _arguments(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: datetime.fromisoformat(value) if name == "moment" else value for name, value in kwargs.items()}


def _insert(class_path: str, kwargs: dict[str, Any], count: int) -> None:
    from airflow.models.asset import AssetActive, AssetModel, AssetWatcherModel  # noqa: PLC0415
    from airflow.models.trigger import Trigger  # noqa: PLC0415
    from airflow.utils.session import create_session  # noqa: PLC0415

    with create_session() as session:
        asset = AssetModel(name="waited-for", uri="x://waited-for", group="asset")
        session.add(asset)
        session.add(AssetActive.for_asset(asset))
        triggers = [Trigger(classpath=class_path, kwargs=kwargs) for _ in range(count)]
        session.add_all(triggers)
        session.flush()
        watchers = [
            AssetWatcherModel(name=f"watcher-{trigger.id}", asset_id=asset.id, trigger_id=trigger.id)
            for trigger in triggers
        ]
        session.add_all(watchers)


if __name__ == "__main__":
    main()
