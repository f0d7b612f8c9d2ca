"""A DAG whose tasks have outlets, for tests."""

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
    of_alias()
    triggered()
