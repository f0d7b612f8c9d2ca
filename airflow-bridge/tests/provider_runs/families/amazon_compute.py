"""Operators of the Amazon provider that run code: containers, clusters, functions, commands."""

from collections.abc import Iterator
from typing import Any

from provider_runs.families.aws_row import COMMAND, ROLE, AwsRows, states
from provider_runs.row import ProviderRow
from provider_runs.servers.aws import AwsError
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/compute")
    yield from _batch(aws)
    yield from _containers(aws)
    yield from _kubernetes(aws)
    yield from _others(aws)
    yield from _workflows(aws)


def _batch(aws: AwsRows) -> Iterator[ProviderRow]:
    def job(status: str) -> dict[str, Any]:
        container = {"image": "busybox:1", "logStreamName": "stream"}
        described = {"jobId": "j1", "jobName": "job", "jobQueue": "q", "status": status, "jobDefinition": "d"}
        return {"jobs": [{**described, "container": container}]}

    arguments = {"job_name": "job", "job_definition": "d", "job_queue": "q", "poll_interval": 1}
    submitted = {"batch.SubmitJob": {"jobName": "job", "jobId": "j1"}}
    yield aws.operator(
        "batch.BatchOperator",
        arguments,
        {**submitted, "batch.DescribeJobs": [job("RUNNING"), job("RUNNING"), job("SUCCEEDED")]},
        result="j1",
        defers=["BatchJobTrigger"],
    )
    yield aws.operator(
        "batch.BatchOperator",
        arguments,
        {**submitted, "batch.DescribeJobs": [job("RUNNING"), job("RUNNING"), job("FAILED")]},
        case="failed",
        state="Failed",
        message="Error while running job",
    )
    arn = "arn:aws:batch:us-east-1:123456789012:compute-environment/env"
    environments = [
        {"computeEnvironments": [{"computeEnvironmentName": "env", "computeEnvironmentArn": arn, "status": status}]}
        for status in ("CREATING", "VALID")
    ]
    yield aws.operator(
        "batch.BatchCreateComputeEnvironmentOperator",
        {
            "compute_environment_name": "env",
            "environment_type": "MANAGED",
            "state": "ENABLED",
            "compute_resources": {"type": "FARGATE", "maxvCpus": 4, "subnets": ["subnet-1"]},
            "poll_interval": 1,
            "max_retries": 20,
        },
        {
            "batch.CreateComputeEnvironment": {"computeEnvironmentName": "env", "computeEnvironmentArn": arn},
            "batch.DescribeComputeEnvironments": environments,
        },
        result=arn,
    )


def _containers(aws: AwsRows) -> Iterator[ProviderRow]:
    arn = "arn:aws:ecs:us-east-1:123456789012:cluster/work"

    def cluster(status: str) -> dict[str, Any]:
        return {"clusterArn": arn, "clusterName": "work", "status": status}

    yield aws.operator(
        "ecs.EcsCreateClusterOperator",
        {"cluster_name": "work", **_QUICK},
        {
            "ecs.CreateCluster": {"cluster": cluster("PROVISIONING")},
            "ecs.DescribeClusters": [{"clusters": [cluster(each)]} for each in ("PROVISIONING", "ACTIVE")],
        },
        result=cluster("ACTIVE"),
    )
    yield aws.trigger(
        "ecs.ClusterInactiveTrigger",
        {"cluster_arn": arn, **_QUICK},
        {"ecs.DescribeClusters": [{"clusters": [cluster(each)]} for each in ("DEPROVISIONING", "INACTIVE")]},
        result={"status": "success", "value": arn},
    )
    task = "arn:aws:ecs:us-east-1:123456789012:task/work/1234"

    def ecs_task(status: str) -> dict[str, Any]:
        container = {"name": "main", "lastStatus": status, "exitCode": 0}
        return {"tasks": [{"taskArn": task, "clusterArn": arn, "lastStatus": status, "containers": [container]}]}

    yield aws.operator(
        "ecs.EcsRunTaskOperator",
        {"task_definition": "load", "cluster": "work", "overrides": {}, **_QUICK},
        {
            "ecs.RunTask": {**ecs_task("PENDING"), "failures": []},
            "ecs.DescribeTasks": [ecs_task("RUNNING"), ecs_task("STOPPED")],
        },
        defers=["TaskDoneTrigger"],
    )


def _kubernetes(aws: AwsRows) -> Iterator[ProviderRow]:
    network = {"subnetIds": ["subnet-1", "subnet-2"], "endpointPublicAccess": True, "endpointPrivateAccess": False}
    subnets = {"nodegroup_subnets": ["subnet-1"], "nodegroup_role_arn": ROLE}
    gone = AwsError(code="ResourceNotFoundException", status=404)
    created, group = {"cluster": {"name": "work"}}, {"nodegroup": {"nodegroupName": "nodes"}}
    yield aws.operator(
        "eks.EksCreateClusterOperator",
        {
            "cluster_name": "work",
            "cluster_role_arn": ROLE,
            "resources_vpc_config": network,
            "nodegroup_name": "nodes",
            "nodegroup_role_arn": ROLE,
            **_QUICK,
        },
        {
            "eks.CreateCluster": created,
            "eks.DescribeCluster": states("cluster.status", "CREATING", "ACTIVE"),
            "eks.CreateNodegroup": group,
            "eks.DescribeNodegroup": states("nodegroup.status", "CREATING", "ACTIVE"),
        },
        defers=["EksCreateClusterTrigger", "EksCreateNodegroupTrigger"],
    )
    yield aws.operator(
        "eks.EksCreateNodegroupOperator",
        {"cluster_name": "work", "nodegroup_name": "nodes", **subnets, **_QUICK},
        {
            "eks.CreateNodegroup": group,
            "eks.DescribeNodegroup": states("nodegroup.status", "CREATING", "ACTIVE"),
        },
    )
    yield aws.operator(
        "eks.EksCreateFargateProfileOperator",
        {
            "cluster_name": "work",
            "pod_execution_role_arn": ROLE,
            "selectors": [{"namespace": "team"}],
            **_QUICK,
        },
        {
            "eks.CreateFargateProfile": {"fargateProfile": {"fargateProfileName": "profile"}},
            "eks.DescribeFargateProfile": states("fargateProfile.status", "CREATING", "ACTIVE"),
        },
    )
    yield aws.operator(
        "eks.EksDeleteClusterOperator",
        {"cluster_name": "work", **_QUICK},
        {
            "eks.DeleteCluster": created,
            "eks.DescribeCluster": [*states("cluster.status", "DELETING"), gone],
        },
    )
    yield aws.operator(
        "eks.EksDeleteNodegroupOperator",
        {"cluster_name": "work", "nodegroup_name": "nodes", **_QUICK},
        {"eks.DeleteNodegroup": group, "eks.DescribeNodegroup": [*states("nodegroup.status", "DELETING"), gone]},
    )
    yield aws.operator(
        "eks.EksDeleteFargateProfileOperator",
        {"cluster_name": "work", "fargate_profile_name": "profile", **_QUICK},
        {
            "eks.DeleteFargateProfile": {"fargateProfile": {"fargateProfileName": "profile"}},
            "eks.DescribeFargateProfile": [*states("fargateProfile.status", "DELETING"), gone],
        },
    )


def _others(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.operator(
        "lambda_function.LambdaCreateFunctionOperator",
        {
            "function_name": "resize",
            "runtime": "python3.12",
            "role": ROLE,
            "handler": "main.run",
            "code": {"S3Bucket": "code", "S3Key": "k"},
            **_QUICK,
        },
        {
            "lambda.CreateFunction": {"FunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:resize"},
            "lambda.GetFunction": states("Configuration.State", "Pending", "Active"),
        },
        result="arn:aws:lambda:us-east-1:123456789012:function:resize",
    )
    yield aws.operator(
        "ssm.SsmRunCommandOperator",
        {"document_name": "AWS-RunShellScript", "run_command_kwargs": {"InstanceIds": ["i-1"]}, **_QUICK},
        {
            "ssm.SendCommand": {"Command": {"CommandId": COMMAND, "InstanceIds": ["i-1"]}},
            "ssm.ListCommandInvocations": {"CommandInvocations": [{"InstanceId": "i-1", "CommandId": COMMAND}]},
            "ssm.GetCommandInvocation": states("Status", "InProgress", "Success"),
        },
        result=COMMAND,
    )
    application: dict[str, Any] = {
        "ApplicationARN": "arn:app",
        "ApplicationName": "app",
        "RuntimeEnvironment": "FLINK-1_19",
    }
    application |= {"ApplicationVersionId": 1}

    def described(*values: str) -> list[Any]:
        return [{"ApplicationDetail": {**application, "ApplicationStatus": value}} for value in values]

    yield aws.operator(
        "kinesis_analytics.KinesisAnalyticsV2StartApplicationOperator",
        {"application_name": "app", **_QUICK},
        {
            "kinesisanalyticsv2.StartApplication": {},
            "kinesisanalyticsv2.DescribeApplication": described("STARTING", "RUNNING"),
        },
        result={"ApplicationARN": "arn:app"},
    )
    yield aws.operator(
        "kinesis_analytics.KinesisAnalyticsV2StopApplicationOperator",
        {"application_name": "app", **_QUICK},
        {
            "kinesisanalyticsv2.StopApplication": {},
            "kinesisanalyticsv2.DescribeApplication": described("STOPPING", "READY"),
        },
        result={"ApplicationARN": "arn:app"},
    )


def _workflows(aws: AwsRows) -> Iterator[ProviderRow]:
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:load"
    execution = "arn:aws:states:us-east-1:123456789012:execution:load:one"
    yield aws.operator(
        "step_function.StepFunctionStartExecutionOperator",
        {"state_machine_arn": machine, "name": "one", **_QUICK},
        {
            "stepfunctions.StartExecution": {"executionArn": execution},
            "stepfunctions.DescribeExecution": states("status", "RUNNING", "SUCCEEDED"),
        },
        result=execution,
    )
    dag_run = {"RestApiStatusCode": 200, "RestApiResponse": {"dag_run_id": "run", "state": "queued"}}
    done = {"RestApiStatusCode": 200, "RestApiResponse": {"dag_run_id": "run", "state": "success"}}
    yield aws.operator(
        "mwaa.MwaaTriggerDagRunOperator",
        {"env_name": "env", "trigger_dag_id": "dag", **_QUICK},
        {"mwaa.InvokeRestApi": [dag_run, dag_run, done]},
        result={"RestApiResponse": {"state": "success"}},
    )
