"""The rows of each family of providers."""

from collections.abc import Callable, Iterator, Sequence

from provider_runs.families import (
    amazon_compute,
    amazon_data,
    amazon_databases,
    amazon_emr,
    amazon_models,
    amazon_sensors,
    amazon_triggers,
    azure,
    databricks,
    google,
    kubernetes,
    real,
    services,
)
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers

_FAMILIES: dict[str, Callable[[RowServers], Iterator[ProviderRow]]] = {
    "amazon/compute": amazon_compute.rows,
    "amazon/data": amazon_data.rows,
    "amazon/databases": amazon_databases.rows,
    "amazon/emr": amazon_emr.rows,
    "amazon/models": amazon_models.rows,
    "amazon/sensors": amazon_sensors.rows,
    "amazon/triggers": amazon_triggers.rows,
    "common.messaging": amazon_triggers.messaging,
    "standard": real.standard,
    "cncf.kubernetes": kubernetes.rows,
    "common.sql": real.sql,
    "redis": real.redis,
    "sftp": real.files_over_ssh,
    "airbyte": services.airbyte,
    "apache.livy": services.livy,
    "databricks": databricks.rows,
    "dbt.cloud": services.dbt,
    "google": google.rows,
    "http": services.http,
    "microsoft.azure": azure.rows,
    "openai": services.openai,
}
_JOB = "its event is the whole Job: more than 4 kB need an archive, which a local run does not have for events"
_ADDRESS = "its client has no address but the vendor's"
_BASE = "a base class"
UNRUN: dict[str, str] = {
    "amazon.aws.operators.ecs.EcsDeleteClusterOperator": "fails in its own code: the event of its trigger has no arn",
    "amazon.aws.operators.eks.EksPodOperator": "needs the API server of an EKS cluster",
    "amazon.aws.operators.sagemaker_unified_studio_notebook": "hands no connection to its trigger",
    "amazon.aws.operators.sagemaker_unified_studio": "its client needs the environment of the Studio",
    "amazon.aws.triggers.sagemaker_unified_studio": "its client needs the environment of the Studio",
    "amazon.aws.sensors.kinesis_analytics.KinesisAnalyticsV2BaseSensor": _BASE,
    "amazon.aws.triggers.base.AwsBaseWaiterTrigger": _BASE,
    "amazon.aws.triggers.bedrock.BedrockBaseBatchInferenceTrigger": _BASE,
    "amazon.aws.triggers.eks.EksPodTrigger": "needs the API server of an EKS cluster",
    "cncf.kubernetes.operators.job.KubernetesJobOperator": _JOB,
    "cncf.kubernetes.triggers.job.KubernetesJobTrigger": _JOB,
    "google": "no server for this API in the registries",
    "microsoft.azure": _ADDRESS,
    "snowflake": _ADDRESS,
    "standard.operators.hitl": "see the tests of the bridge",
    "standard.operators.trigger_dagrun": "see the tests of the bridge",
    "standard.sensors.external_task": "see the tests of the bridge",
    "standard.triggers.external_task": "see the tests of the bridge",
    "standard.triggers.hitl": "see the tests of the bridge",
}
"""Why no row runs a class, or the classes of a module, by the path after `airflow.providers.`."""
IMPORTS = ("airflow.providers.amazon.aws.hooks.base_aws", "aiobotocore.session")
"""What the interpreter of the tasks imports before the first one."""


def all_rows(servers: RowServers, wanted: Sequence[str]) -> Iterator[tuple[str, Sequence[ProviderRow]]]:
    """Yield each family with its rows; of `wanted`, such as `amazon` or `amazon/sensors`, if it is not empty."""
    for name, rows in _FAMILIES.items():
        if not wanted or name in wanted or name.partition("/")[0] in wanted:
            yield name, [*rows(servers)]
