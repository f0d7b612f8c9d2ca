"""Operators of the Amazon provider that query or move data."""

from collections.abc import Iterator
from typing import Any

from provider_runs.families.aws_row import ROLE, AwsRows, states
from provider_runs.row import ProviderRow
from provider_runs.servers.aws import AwsError
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/data")
    yield from _athena(aws)
    yield from _glue(aws)
    yield from _dms(aws)
    yield from _others(aws)


def _athena(aws: AwsRows) -> Iterator[ProviderRow]:
    query = {"query": "SELECT 1", "database": "default", "output_location": "s3://b/out", "sleep_time": 1}
    started = {"athena.StartQueryExecution": {"QueryExecutionId": "q-1"}}
    yield aws.operator(
        "athena.AthenaOperator",
        query,
        {**started, "athena.GetQueryExecution": states("QueryExecution.Status.State", "RUNNING", "SUCCEEDED")},
        result="q-1",
        defers=["AthenaTrigger"],
    )
    yield aws.operator(
        "athena.AthenaOperator",
        query,
        {**started, "athena.GetQueryExecution": states("QueryExecution.Status.State", "RUNNING", "FAILED")},
        case="failed",
        state="Failed",
    )


def _glue(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.operator(
        "glue.GlueJobOperator",
        {
            "job_name": "load",
            "script_location": "s3://b/main.py",
            "iam_role_arn": ROLE,
            "job_poll_interval": 1,
            "s3_bucket": "b",
        },
        {
            "glue.GetJob": {"Job": {"Name": "load"}},
            "glue.StartJobRun": {"JobRunId": "r1"},
            "glue.GetJobRun": states("JobRun.JobRunState", "RUNNING", "SUCCEEDED"),
        },
    )
    table = {"GlueTable": {"DatabaseName": "d", "TableName": "t"}}
    results = {"Results": [{"ResultId": "r1", "RuleResults": [{"Name": "rule", "Result": "PASS"}]}]}
    yield aws.operator(
        "glue.GlueDataQualityRuleSetEvaluationRunOperator",
        {"datasource": table, "role": ROLE, "rule_set_names": ["rules"], **_QUICK},
        {
            "glue.GetDataQualityRuleset": {"Name": "rules"},
            "glue.StartDataQualityRulesetEvaluationRun": {"RunId": "e1"},
            "glue.GetDataQualityRulesetEvaluationRun": states("Status", "RUNNING", "SUCCEEDED", ResultIds=["r1"]),
            "glue.BatchGetDataQualityResult": results,
        },
        result="e1",
    )
    yield aws.operator(
        "glue.GlueDataQualityRuleRecommendationRunOperator",
        {"datasource": table, "role": ROLE, **_QUICK},
        {
            "glue.StartDataQualityRuleRecommendationRun": {"RunId": "r1"},
            "glue.GetDataQualityRuleRecommendationRun": states(
                "Status", "RUNNING", "SUCCEEDED", RecommendedRuleset="Rules = []", DataSource=table
            ),
        },
        result="r1",
    )
    crawler = [{"Crawler": {"Name": "c", "State": "RUNNING"}}, {"Crawler": {"Name": "c", "State": "READY"}}]
    yield aws.operator(
        "glue_crawler.GlueCrawlerRunOperator",
        {"crawler_name": "c", "poll_interval": 1},
        {"glue.StartCrawler": {}, "glue.GetCrawler": crawler},
        result="c",
    )
    yield aws.operator(
        "glue_crawler.GlueCrawlerOperator",
        {"config": {"Name": "c", "Role": ROLE, "Targets": {"S3Targets": [{"Path": "s3://b"}]}}, "poll_interval": 1},
        {
            "glue.GetCrawler": [AwsError(code="EntityNotFoundException"), *crawler],
            "glue.CreateCrawler": {},
            "glue.StartCrawler": {},
        },
        result="c",
    )
    yield aws.operator(
        "glue_databrew.GlueDataBrewStartJobOperator",
        {"job_name": "clean", **_QUICK},
        {
            "databrew.StartJobRun": {"RunId": "r1"},
            "databrew.DescribeJobRun": states("State", "RUNNING", "SUCCEEDED", JobName="clean"),
        },
        result={"run_id": "r1"},
    )


def _dms(aws: AwsRows) -> Iterator[ProviderRow]:
    config = "arn:aws:dms:us-east-1:123456789012:replication-config:one"
    task = "arn:aws:dms:us-east-1:123456789012:task:one"

    def replication(status: str, provisioned: str = "provisioned") -> dict[str, Any]:
        return {"Replications": [{"Status": status, "ProvisionData": {"ProvisionState": provisioned}}]}

    yield aws.operator(
        "dms.DmsStartReplicationOperator",
        {"replication_config_arn": config, "replication_start_type": "start-replication", **_QUICK},
        {
            "dms.DescribeReplications": [
                replication("stopped", "deprovisioned"),
                replication("stopped", "deprovisioned"),
                replication("running"),
                replication("stopped"),
            ],
            "dms.StartReplication": {"Replication": {"Status": "starting"}},
        },
        defers=["DmsReplicationCompleteTrigger"],
    )
    yield aws.operator(
        "dms.DmsStopReplicationOperator",
        {"replication_config_arn": config, **_QUICK},
        {
            "dms.DescribeReplications": [replication("running"), replication("stopping"), replication("stopped")],
            "dms.StopReplication": {"Replication": {"Status": "stopping"}},
        },
        defers=["DmsReplicationStoppedTrigger"],
    )
    yield aws.operator(
        "dms.DmsDeleteReplicationConfigOperator",
        {"replication_config_arn": config, **_QUICK},
        {
            "dms.DescribeReplications": [
                replication("running"),
                replication("running"),
                replication("stopped", "deprovisioning"),
                replication("stopped", "deprovisioned"),
            ],
            "dms.DeleteReplicationConfig": {},
            "dms.DescribeReplicationConfigs": [
                {"ReplicationConfigs": [{"ReplicationConfigArn": config}]},
                AwsError(code="ResourceNotFoundFault"),
            ],
        },
    )
    modified = [{"ReplicationTasks": [{"ReplicationTaskArn": task, "Status": each}]} for each in ("stopped", "stopped")]
    modified.insert(1, {"ReplicationTasks": [{"ReplicationTaskArn": task, "Status": "modifying"}]})
    yield aws.operator(
        "dms.DmsModifyTaskOperator",
        {"replication_task_arn": task, "table_mappings": {"rules": []}, **_QUICK},
        {
            "dms.DescribeReplicationTasks": modified,
            "dms.ModifyReplicationTask": {"ReplicationTask": {"ReplicationTaskArn": task, "Status": "modifying"}},
        },
    )
    tables = [{"TableStatistics": [{"TableState": each}]} for each in ("Table is being reloaded", "Table completed")]
    yield aws.operator(
        "dms.DmsReloadTablesOperator",
        {"replication_task_arn": task, "tables_to_reload": [{"SchemaName": "s", "TableName": "t"}], **_QUICK},
        {"dms.ReloadTables": {"ReplicationTaskArn": task}, "dms.DescribeTableStatistics": tables},
        result=task,
    )


def _others(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.operator(
        "redshift_data.RedshiftDataOperator",
        {"sql": "SELECT 1", "database": "dev", "cluster_identifier": "c1", "poll_interval": 1},
        {
            "redshift-data.ExecuteStatement": {"Id": "s1"},
            "redshift-data.DescribeStatement": states("Status", "STARTED", "STARTED", "FINISHED", Id="s1"),
        },
        defers=["RedshiftDataTrigger"],
    )
    ingestion = {"Arn": "arn:i1", "CreatedTime": "2026-11-26T00:00:00Z"}
    described = [{"Ingestion": {**ingestion, "IngestionStatus": each}} for each in ("RUNNING", "COMPLETED")]
    yield aws.operator(
        "quicksight.QuickSightCreateIngestionOperator",
        {"data_set_id": "d1", "ingestion_id": "i1", **_QUICK},
        {
            "quicksight.CreateIngestion": {"IngestionId": "i1", "IngestionStatus": "INITIALIZED"},
            "quicksight.DescribeIngestion": described,
        },
    )
