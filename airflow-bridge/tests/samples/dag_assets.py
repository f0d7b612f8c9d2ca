"""A DAG whose tasks have outlets, for tests."""

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, Asset, AssetAlias, task

rows = Asset("rows")
files = AssetAlias("files")

with DAG("assets", schedule=[rows]):

    @task(outlets=[rows])
    def plain() -> str:
        return "plain"

    @task(outlets=[rows])
    def with_extra(*, outlet_events: Any) -> str:
        outlet_events[rows].extra = {"rows": 3}
        return "with_extra"

    @task(outlets=[rows])
    def with_moment(*, outlet_events: Any) -> None:
        outlet_events[rows].extra = {"at": datetime.now(UTC)}

    @task(outlets=[files])
    def of_alias(*, outlet_events: Any) -> str:
        outlet_events[files].add(Asset("s3://lake/new.csv"), extra={"day": 1})
        return "of_alias"

    @task
    def triggered(*, triggering_asset_events: Any) -> Any:
        (event,) = triggering_asset_events[rows]
        return [event.extra, event.source_run_id, event.timestamp.year]

    plain()
    with_extra()
    with_moment()
    of_alias()
    triggered()
