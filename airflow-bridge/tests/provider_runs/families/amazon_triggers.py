"""Triggers of the Amazon provider that no operator of the other families waits for."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from provider_runs.families.aws_row import AwsRows
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/triggers")

    def stream() -> None:
        kinesis = servers.aws.client("kinesis")
        kinesis.create_stream(StreamName="events", ShardCount=1)
        kinesis.put_record(StreamName="events", Data=b"rows", PartitionKey="p")

    yield aws.trigger(
        "kinesis.KinesisTrigger",
        {"stream_name": "events", "shard_iterator_type": "TRIM_HORIZON", "waiter_delay": 1},
        {},
        prepare=stream,
    )
    instances: list[Any] = [
        {"DBInstances": [{"DBInstanceIdentifier": "n1", "DBInstanceStatus": status}]}
        for status in ("creating", "available")
    ]
    yield aws.trigger(
        "neptune.NeptuneClusterInstancesAvailableTrigger",
        {"db_cluster_id": "n1", **_QUICK},
        {"neptune.DescribeDBInstances": instances},
        result={"status": "success", "db_cluster_id": "n1"},
    )
    config = "arn:aws:dms:us-east-1:123456789012:replication-config:one"
    yield aws.trigger(
        "dms.DmsReplicationDeprovisionedTrigger",
        {"replication_config_arn": config, **_QUICK},
        {
            "dms.DescribeReplications": [
                {"Replications": [{"Status": "stopped", "ProvisionData": {"ProvisionState": state}}]}
                for state in ("deprovisioning", "deprovisioned")
            ]
        },
        result={"status": "success", "replication_config_arn": config},
    )
    run = {"domainId": "dzd_one", "owningProjectId": "project", "notebookId": "notebook", "id": "run1"}
    yield aws.trigger(
        "sagemaker_unified_studio_notebook.SageMakerUnifiedStudioNotebookTrigger",
        {
            "notebook_run_id": "run1",
            "domain_identifier": "dzd_one",
            "owning_project_identifier": "project",
            "waiter_delay": 1,
        },
        {"datazone.GetNotebookRun": [{**run, "status": "RUNNING"}, {**run, "status": "SUCCEEDED"}]},
        result={"status": "success", "notebook_run_id": "run1"},
    )


def messaging(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the row of the common message queue, against a queue of SQS."""

    def queue() -> None:
        sqs = servers.aws.client("sqs")
        url = sqs.create_queue(QueueName="messages")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody='{"rows": 3}')

    arguments = {"scheme": "sqs", "sqs_queue": f"{servers.aws.url}/123456789012/messages", "waiter_delay": 1}
    made = AwsRows(servers, "common.messaging").trigger("sqs.SqsSensorTrigger", arguments, {}, prepare=queue)
    yield replace(made, path="common.messaging.triggers.msg_queue.MessageQueueTrigger")
