"""Operators of RDS, Redshift and Neptune, which use the protocol `query`, and of Neptune Analytics."""

from collections.abc import Iterator
from typing import Any

from provider_runs.families.aws_row import ROLE, AwsRows, states
from provider_runs.row import ProviderRow
from provider_runs.servers.aws import AwsError
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}
_POLL = {"poll_interval": 1, "wait_for_completion": True}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/databases")
    yield from _rds(aws)
    yield from _redshift(aws)
    yield from _neptune(aws)
    yield from _graphs(aws)


def _rds(aws: AwsRows) -> Iterator[ProviderRow]:
    def instances(*values: str) -> list[Any]:
        return [{"DBInstances": [{"DBInstanceIdentifier": "db", "DBInstanceStatus": value}]} for value in values]

    one = {"DBInstance": {"DBInstanceIdentifier": "db", "DBInstanceStatus": "creating"}}
    yield aws.operator(
        "rds.RdsCreateDbInstanceOperator",
        {"db_instance_identifier": "db", "db_instance_class": "db.t3.micro", "engine": "postgres", **_QUICK},
        {"rds.CreateDBInstance": one, "rds.DescribeDBInstances": instances("creating", "available")},
    )
    yield aws.operator(
        "rds.RdsDeleteDbInstanceOperator",
        {"db_instance_identifier": "db", "rds_kwargs": {"SkipFinalSnapshot": True}, **_QUICK},
        {
            "rds.DeleteDBInstance": one,
            "rds.DescribeDBInstances": [*instances("deleting"), AwsError(code="DBInstanceNotFound", status=404)],
        },
    )
    yield aws.operator(
        "rds.RdsStartDbOperator",
        {"db_identifier": "db", **_QUICK},
        {"rds.StartDBInstance": one, "rds.DescribeDBInstances": instances("starting", "available")},
    )
    yield aws.operator(
        "rds.RdsStopDbOperator",
        {"db_identifier": "db", **_QUICK},
        {"rds.StopDBInstance": one, "rds.DescribeDBInstances": instances("stopping", "stopped")},
    )


def _redshift(aws: AwsRows) -> Iterator[ProviderRow]:
    def clusters(*values: str) -> list[Any]:
        return [{"Clusters": [{"ClusterIdentifier": "c1", "ClusterStatus": value}]} for value in values]

    one = {"Cluster": {"ClusterIdentifier": "c1"}}
    busy = AwsError(code="InvalidClusterState")
    gone = AwsError(code="ClusterNotFound", status=404)
    yield aws.operator(
        "redshift_cluster.RedshiftCreateClusterOperator",
        {
            "cluster_identifier": "c1",
            "node_type": "ra3.large",
            "master_username": "ann",
            "master_user_password": "Hunter2222",
            **_POLL,
        },
        {"redshift.CreateCluster": one, "redshift.DescribeClusters": clusters("creating", "available")},
    )
    yield aws.operator(
        "redshift_cluster.RedshiftPauseClusterOperator",
        {"cluster_identifier": "c1", **_POLL},
        {"redshift.PauseCluster": one, "redshift.DescribeClusters": clusters("available", "pausing", "paused")},
    )
    yield aws.operator(
        "redshift_cluster.RedshiftResumeClusterOperator",
        {"cluster_identifier": "c1", **_POLL},
        {"redshift.ResumeCluster": one, "redshift.DescribeClusters": clusters("paused", "resuming", "available")},
    )
    yield aws.operator(
        "redshift_cluster.RedshiftDeleteClusterOperator",
        {"cluster_identifier": "c1", **_POLL},
        {
            "redshift.DeleteCluster": [busy, one],
            "redshift.DescribeClusters": [*clusters("modifying", "available", "deleting", "deleting"), gone],
        },
        defers=["RedshiftClusterSettledTrigger", "RedshiftDeleteClusterTrigger"],
    )
    snapshots = [{"Snapshots": [{"SnapshotIdentifier": "s1", "Status": each}]} for each in ("creating", "available")]
    yield aws.operator(
        "redshift_cluster.RedshiftCreateClusterSnapshotOperator",
        {"cluster_identifier": "c1", "snapshot_identifier": "s1", **_POLL},
        {
            "redshift.DescribeClusters": clusters("available"),
            "redshift.CreateClusterSnapshot": {"Snapshot": {"SnapshotIdentifier": "s1"}},
            "redshift.DescribeClusterSnapshots": snapshots,
        },
    )


def _neptune(aws: AwsRows) -> Iterator[ProviderRow]:
    def clusters(*values: str) -> list[Any]:
        return [{"DBClusters": [{"DBClusterIdentifier": "n1", "Status": value}]} for value in values]

    one = {"DBCluster": {"DBClusterIdentifier": "n1"}}
    yield aws.operator(
        "neptune.NeptuneStartDbClusterOperator",
        {"db_cluster_id": "n1", **_QUICK},
        {"neptune.StartDBCluster": one, "neptune.DescribeDBClusters": clusters("stopped", "starting", "available")},
        result={"db_cluster_id": "n1"},
    )
    yield aws.operator(
        "neptune.NeptuneStopDbClusterOperator",
        {"db_cluster_id": "n1", **_QUICK},
        {"neptune.StopDBCluster": one, "neptune.DescribeDBClusters": clusters("available", "stopping", "stopped")},
        result={"db_cluster_id": "n1"},
    )


def _graphs(aws: AwsRows) -> Iterator[ProviderRow]:
    graph, task = "g-0123456789", "t-0123456789"
    gone = AwsError(code="ResourceNotFoundException", status=404)
    yield aws.operator(
        "neptune_analytics.NeptuneCreateGraphOperator",
        {"graph_name": "graph", "vector_search_config": {"dimension": 2}, "provisioned_memory": 16, **_QUICK},
        {
            "neptune-graph.CreateGraph": {"id": graph, "name": "graph", "arn": "arn:g"},
            "neptune-graph.GetGraph": states("status", "CREATING", "AVAILABLE", id=graph),
        },
        result={"graph_id": graph},
    )
    yield aws.operator(
        "neptune_analytics.NeptuneDeleteGraphOperator",
        {"graph_id": graph, "skip_snapshot": True, **_QUICK},
        {
            "neptune-graph.DeleteGraph": {"id": graph, "name": "graph", "arn": "arn:g"},
            "neptune-graph.GetGraph": [*states("status", "DELETING", id=graph), gone],
        },
    )
    endpoint = {"vpcId": "vpc-1", "subnetIds": ["subnet-1"], "vpcEndpointId": "vpce-1"}
    yield aws.operator(
        "neptune_analytics.NeptuneCreatePrivateGraphEndpointOperator",
        {"graph_identifier": graph, "vpc_id": "vpc-1", **_QUICK},
        {
            "neptune-graph.CreatePrivateGraphEndpoint": {**endpoint, "status": "CREATING"},
            "neptune-graph.GetPrivateGraphEndpoint": [
                {**endpoint, "status": "CREATING"},
                {**endpoint, "status": "CREATING"},
                {**endpoint, "status": "AVAILABLE"},
            ],
        },
        result={"vpc_endpoint_id": "vpce-1"},
    )
    yield aws.operator(
        "neptune_analytics.NeptuneDeletePrivateGraphEndpointOperator",
        {"graph_identifier": graph, "vpc_id": "vpc-1", **_QUICK},
        {
            "neptune-graph.DeletePrivateGraphEndpoint": {**endpoint, "status": "DELETING"},
            "neptune-graph.GetPrivateGraphEndpoint": [{**endpoint, "status": "DELETING"}, gone],
        },
    )
    source = {"source": "s3://b/nodes", "role_arn": ROLE}
    imports = states("status", "IMPORTING", "SUCCEEDED", taskId=task, graphId=graph)
    yield aws.operator(
        "neptune_analytics.NeptuneCreateGraphWithImportOperator",
        {"graph_name": "graph", "vector_search_config": {"dimension": 2}, **source, **_QUICK},
        {
            "neptune-graph.CreateGraphUsingImportTask": {"graphId": graph, "taskId": task},
            "neptune-graph.GetGraph": states("status", "CREATING", "AVAILABLE", id=graph),
            "neptune-graph.GetImportTask": imports,
        },
        defers=["NeptuneGraphAvailableTrigger", "NeptuneImportTaskCompleteTrigger"],
    )
    yield aws.operator(
        "neptune_analytics.NeptuneStartImportTaskOperator",
        {"graph_identifier": graph, **source, **_QUICK},
        {
            "neptune-graph.StartImportTask": {"graphId": graph, "taskId": task},
            "neptune-graph.GetImportTask": imports,
        },
    )
    yield aws.operator(
        "neptune_analytics.NeptuneCancelImportTaskOperator",
        {"import_task_id": task, **_QUICK},
        {
            "neptune-graph.CancelImportTask": {"graphId": graph, "taskId": task},
            "neptune-graph.GetImportTask": states("status", "CANCELLING", "CANCELLED", taskId=task),
        },
        result={"import_task_id": task},
    )
