"""Operators of EMR: clusters, containers and serverless applications."""

from collections.abc import Iterator
from typing import Any

from provider_runs.families.aws_row import ROLE, AwsRows, states
from provider_runs.row import ProviderRow
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}
_SPARK = {"sparkSubmit": {"entryPoint": "s3://b/main.py"}}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/emr")
    yield from _clusters(aws)
    yield from _serverless(aws)
    yield from _sessions(aws)


def _clusters(aws: AwsRows) -> Iterator[ProviderRow]:
    steps = [{"Name": "one", "HadoopJarStep": {"Jar": "command-runner.jar", "Args": ["true"]}}]
    listed = [{"Steps": [{"Id": "s-1", "Status": {"State": each}}]} for each in ("RUNNING", "COMPLETED")]
    yield aws.operator(
        "emr.EmrAddStepsOperator",
        {"job_flow_id": "j-1", "steps": steps, "wait_for_completion": True, **_QUICK},
        {
            "emr.AddJobFlowSteps": {"StepIds": ["s-1"]},
            "emr.DescribeCluster": states("Cluster.Status.State", "RUNNING"),
            "emr.ListSteps": listed,
        },
        result=["s-1"],
    )
    yield aws.operator(
        "emr.EmrCreateJobFlowOperator",
        {
            "job_flow_overrides": {"Name": "load", "Instances": {"KeepJobFlowAliveWhenNoSteps": True}},
            "wait_for_completion": True,
            **_QUICK,
        },
        {
            "emr.RunJobFlow": {"JobFlowId": "j-1"},
            "emr.DescribeCluster": states("Cluster.Status.State", "STARTING", "STARTING", "WAITING"),
        },
        result="j-1",
    )
    yield aws.operator(
        "emr.EmrTerminateJobFlowOperator",
        {"job_flow_id": "j-1", **_QUICK},
        {
            "emr.TerminateJobFlows": {},
            "emr.DescribeCluster": states("Cluster.Status.State", "TERMINATING", "TERMINATING", "TERMINATED"),
        },
    )
    yield aws.operator(
        "emr.EmrContainerOperator",
        {
            "name": "load",
            "virtual_cluster_id": "v1",
            "execution_role_arn": ROLE,
            "release_label": "emr-7.0.0-latest",
            "job_driver": {"sparkSubmitJobDriver": {"entryPoint": "local:///main.py"}},
            "poll_interval": 1,
        },
        {
            "emr-containers.StartJobRun": {"id": "r1", "virtualClusterId": "v1"},
            "emr-containers.DescribeJobRun": states("jobRun.state", "RUNNING", "RUNNING", "COMPLETED"),
        },
        result="r1",
        defers=["EmrContainerTrigger"],
    )


def _serverless(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.operator(
        "emr.EmrServerlessCreateApplicationOperator",
        {"release_label": "emr-7.0.0", "job_type": "SPARK", **_QUICK},
        {
            "emr-serverless.CreateApplication": {"applicationId": "a1", "arn": "arn:a1", "name": "load"},
            "emr-serverless.StartApplication": {},
            "emr-serverless.GetApplication": states("application.state", "CREATING", "CREATED", "STARTING", "STARTED"),
        },
        result="a1",
        defers=["EmrServerlessCreateApplicationTrigger", "EmrServerlessStartApplicationTrigger"],
    )
    run = {"applicationId": "a1", "jobRunId": "r1", "arn": "arn:r1"}
    arguments = {"application_id": "a1", "execution_role_arn": ROLE, "job_driver": _SPARK, **_QUICK}
    started: dict[str, Any] = {
        "emr-serverless.StartJobRun": run,
        "emr-serverless.GetApplication": states("application.state", "STARTED"),
    }
    yield aws.operator(
        "emr.EmrServerlessStartJobOperator",
        arguments,
        {**started, "emr-serverless.GetJobRun": states("jobRun.state", "RUNNING", "SUCCESS")},
        defers=["EmrServerlessStartJobTrigger"],
    )
    yield aws.operator(
        "emr.EmrServerlessStopApplicationOperator",
        {"application_id": "a1", "force_stop": True, **_QUICK},
        {
            "emr-serverless.ListJobRuns": [{"jobRuns": [{"id": "r1"}]}, {"jobRuns": [{"id": "r1"}]}, {"jobRuns": []}],
            "emr-serverless.CancelJobRun": {"applicationId": "a1", "jobRunId": "r1"},
            "emr-serverless.StopApplication": {},
            "emr-serverless.GetApplication": states("application.state", "STOPPING", "STOPPED"),
        },
        defers=["EmrServerlessCancelJobsTrigger", "EmrServerlessStopApplicationTrigger"],
    )
    yield aws.operator(
        "emr.EmrServerlessDeleteApplicationOperator",
        {"application_id": "a1", **_QUICK},
        {
            "emr-serverless.StopApplication": {},
            "emr-serverless.DeleteApplication": {},
            "emr-serverless.GetApplication": states(
                "application.state", "STOPPING", "STOPPED", "STOPPED", "TERMINATED"
            ),
        },
        defers=["EmrServerlessStopApplicationTrigger", "EmrServerlessDeleteApplicationTrigger"],
    )


def _sessions(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.operator(
        "emr.EmrServerlessStartSessionOperator",
        {"application_id": "a1", "execution_role_arn": ROLE, **_QUICK},
        {
            "emr-serverless.StartSession": {"applicationId": "a1", "sessionId": "s1", "arn": "arn:s1"},
            "emr-serverless.GetSession": states("session.state", "STARTING", "IDLE"),
        },
    )
    yield aws.operator(
        "emr.EmrServerlessStopSessionOperator",
        {"application_id": "a1", "session_id": "s1", **_QUICK},
        {
            "emr-serverless.TerminateSession": {"applicationId": "a1", "sessionId": "s1"},
            "emr-serverless.GetSession": states("session.state", "TERMINATING", "TERMINATED"),
        },
    )
