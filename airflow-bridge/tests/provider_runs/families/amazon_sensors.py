"""Sensors of the Amazon provider."""

from collections.abc import Iterator
from datetime import UTC, datetime

from provider_runs.families.aws_row import COMMAND, AwsRows, classifier_states, states
from provider_runs.row import ProviderRow
from provider_runs.servers.answers import OTHERS
from provider_runs.servers.aws import AwsError
from provider_runs.servers.started import RowServers

_NOW = datetime(2026, 11, 26, tzinfo=UTC)
_TABLE = {"GlueTable": {"DatabaseName": "d", "TableName": "t"}}
_JOB = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abcdef123456"


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of sensors."""
    aws = AwsRows(servers, "amazon/sensors")
    yield from _compute(aws)
    yield from _models(aws)
    yield from _glue(aws)
    yield from _others(aws)
    yield from _stored(aws, servers)


def _compute(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.sensor(
        "batch.BatchSensor",
        {"job_id": "j1"},
        {"batch.DescribeJobs": [_job("RUNNING"), _job("RUNNING"), _job("SUCCEEDED")]},
    )
    yield aws.sensor(
        "batch.BatchSensor",
        {"job_id": "j1"},
        {"batch.DescribeJobs": [_job("RUNNING"), _job("RUNNING"), _job("FAILED")]},
        case="failed",
        state="Failed",
    )
    yield aws.sensor(
        "emr.EmrContainerSensor",
        {"virtual_cluster_id": "v1", "job_id": "j1", "poll_interval": 1},
        {"emr-containers.DescribeJobRun": states("jobRun.state", "RUNNING", "COMPLETED")},
    )
    cluster = states("Cluster.Status.State", "RUNNING", "RUNNING", "TERMINATED")
    yield aws.sensor("emr.EmrJobFlowSensor", {"job_flow_id": "j-1"}, {"emr.DescribeCluster": cluster})
    step = {"job_flow_id": "j-1", "step_id": "s-1"}
    yield aws.sensor(
        "emr.EmrStepSensor",
        step,
        {
            "emr.DescribeStep": states("Step.Status.State", "RUNNING", "RUNNING", "COMPLETED"),
            "emr.DescribeCluster": states("Cluster.Status.State", "RUNNING"),
        },
    )
    yield aws.sensor(
        "emr.EmrServerlessJobSensor",
        {"application_id": "a1", "job_run_id": "r1"},
        {"emr-serverless.GetJobRun": states("jobRun.state", "RUNNING", "RUNNING", "SUCCESS")},
    )
    yield aws.sensor(
        "ssm.SsmRunCommandCompletedSensor",
        {"command_id": COMMAND},
        {
            "ssm.ListCommandInvocations": {"CommandInvocations": [{"InstanceId": "i-1", "CommandId": COMMAND}]},
            "ssm.GetCommandInvocation": states("Status", "InProgress", "Success"),
        },
    )
    application = states("ApplicationDetail.ApplicationStatus", "STARTING", "STARTING", "RUNNING")
    yield aws.sensor(
        "kinesis_analytics.KinesisAnalyticsV2StartApplicationCompletedSensor",
        {"application_name": "app"},
        {"kinesisanalyticsv2.DescribeApplication": application},
    )
    application = states("ApplicationDetail.ApplicationStatus", "STOPPING", "STOPPING", "READY")
    yield aws.sensor(
        "kinesis_analytics.KinesisAnalyticsV2StopApplicationCompletedSensor",
        {"application_name": "app"},
        {"kinesisanalyticsv2.DescribeApplication": application},
    )


def _job(status: str) -> dict[str, object]:
    return {"jobs": [{"jobId": "j1", "jobName": "job", "jobQueue": "q", "status": status, "jobDefinition": "d"}]}


def _models(aws: AwsRows) -> Iterator[ProviderRow]:
    job = states("status", "InProgress", "Scheduled")
    yield aws.sensor(
        "bedrock.BedrockBatchInferenceSensor",
        {"job_arn": _JOB},
        {"bedrock.GetModelInvocationJob": job},
        case="scheduled",
    )
    job = states("status", "InProgress", "Completed")
    yield aws.sensor(
        "bedrock.BedrockBatchInferenceSensor",
        {"job_arn": _JOB, "success_state": "completed"},
        {"bedrock.GetModelInvocationJob": job},
    )
    yield aws.sensor(
        "bedrock.BedrockCustomizeModelCompletedSensor",
        {"job_name": "job"},
        {"bedrock.GetModelCustomizationJob": states("status", "InProgress", "Completed")},
    )
    yield aws.sensor(
        "bedrock.BedrockCustomizeModelCompletedSensor",
        {"job_name": "job"},
        {"bedrock.GetModelCustomizationJob": states("status", "InProgress", "Failed")},
        case="failed",
        state="Failed",
    )
    yield aws.sensor(
        "bedrock.BedrockIngestionJobSensor",
        {"knowledge_base_id": "KB12345678", "data_source_id": "DS12345678", "ingestion_job_id": "IJ12345678"},
        {"bedrock-agent.GetIngestionJob": states("ingestionJob.status", "IN_PROGRESS", "COMPLETE")},
    )
    yield aws.sensor(
        "bedrock.BedrockKnowledgeBaseActiveSensor",
        {"knowledge_base_id": "KB12345678"},
        {"bedrock-agent.GetKnowledgeBase": states("knowledgeBase.status", "CREATING", "ACTIVE")},
    )
    yield aws.sensor(
        "bedrock.BedrockProvisionModelThroughputCompletedSensor",
        {"model_id": "model"},
        {"bedrock.GetProvisionedModelThroughput": states("status", "Creating", "InService")},
    )
    classifier = "arn:aws:comprehend:us-east-1:123456789012:document-classifier/one"
    yield aws.sensor(
        "comprehend.ComprehendCreateDocumentClassifierCompletedSensor",
        {"document_classifier_arn": classifier},
        {"comprehend.DescribeDocumentClassifier": classifier_states()},
    )
    pii = states("PiiEntitiesDetectionJobProperties.JobStatus", "IN_PROGRESS", "COMPLETED")
    yield aws.sensor(
        "comprehend.ComprehendStartPiiEntitiesDetectionJobCompletedSensor",
        {"job_id": "j1"},
        {"comprehend.DescribePiiEntitiesDetectionJob": pii},
    )
    collection = [{"collectionDetails": [{"id": "c123", "status": status}]} for status in ("CREATING", "ACTIVE")]
    yield aws.sensor(
        "opensearch_serverless.OpenSearchServerlessCollectionActiveSensor",
        {"collection_id": "c123"},
        {"opensearchserverless.BatchGetCollection": collection},
    )


def _glue(aws: AwsRows) -> Iterator[ProviderRow]:
    yield aws.sensor(
        "glue.GlueJobSensor",
        {"job_name": "job", "run_id": "r1"},
        {"glue.GetJobRun": states("JobRun.JobRunState", "RUNNING", "SUCCEEDED")},
    )
    evaluation = states("Status", "RUNNING", "SUCCEEDED", ResultIds=["r1"])
    results = {"Results": [{"ResultId": "r1", "RuleResults": [{"Name": "rule", "Result": "PASS"}]}]}
    yield aws.sensor(
        "glue.GlueDataQualityRuleSetEvaluationRunSensor",
        {"evaluation_run_id": "e1"},
        {"glue.GetDataQualityRulesetEvaluationRun": evaluation, "glue.BatchGetDataQualityResult": results},
    )
    recommendation = states("Status", "RUNNING", "SUCCEEDED", RecommendedRuleset="Rules = []", DataSource=_TABLE)
    yield aws.sensor(
        "glue.GlueDataQualityRuleRecommendationRunSensor",
        {"recommendation_run_id": "r1"},
        {"glue.GetDataQualityRuleRecommendationRun": recommendation},
    )
    partitions = [{"Partitions": []}, {"Partitions": [{"Values": ["2026-11-26"]}]}]
    yield aws.sensor(
        "glue_catalog_partition.GlueCatalogPartitionSensor",
        {"table_name": "trips", "expression": "ds='2026-11-26'"},
        {"glue.GetPartitions": partitions},
    )


def _others(aws: AwsRows) -> Iterator[ProviderRow]:
    dag_run = states("RestApiResponse.state", "running", "success", RestApiStatusCode=200)
    yield aws.sensor(
        "mwaa.MwaaDagRunSensor",
        {"external_env_name": "env", "external_dag_id": "dag", "external_dag_run_id": "run"},
        {"mwaa.InvokeRestApi": dag_run},
    )
    yield aws.sensor(
        "mwaa.MwaaTaskSensor",
        {"external_env_name": "env", "external_dag_id": "dag", "external_dag_run_id": "run", "external_task_id": "t"},
        {"mwaa.InvokeRestApi": dag_run},
    )
    yield aws.sensor(
        "mwaa.MwaaDagRunSensor",
        {"external_env_name": "env", "external_dag_id": "dag", "external_dag_run_id": "run"},
        {"mwaa.InvokeRestApi": states("RestApiResponse.state", "running", "failed", RestApiStatusCode=200)},
        case="failed",
        state="Failed",
    )
    ingestion = [{"Ingestion": {"IngestionStatus": status}, "Status": 200} for status in ("RUNNING", "COMPLETED")]
    for each in ingestion:
        each["Ingestion"] |= {"Arn": "arn", "CreatedTime": _NOW}  # type: ignore[operator]
    yield aws.sensor(
        "quicksight.QuickSightSensor",
        {"data_set_id": "d1", "ingestion_id": "i1"},
        {"quicksight.DescribeIngestion": ingestion},
    )


def _stored(aws: AwsRows, servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows of what moto stores."""

    def bucket() -> None:
        s3 = servers.aws.client("s3")
        s3.create_bucket(Bucket="reports")
        s3.put_object(Bucket="reports", Key="day/one.csv", Body=b"1,2")

    yield aws.sensor(
        "s3.S3KeySensor",
        {"bucket_name": "reports", "bucket_key": "day/one.csv"},
        {"s3.HeadObject": [AwsError(code="404", status=404), AwsError(code="404", status=404), OTHERS]},
        prepare=bucket,
    )
    yield aws.sensor(
        "s3.S3KeysUnchangedSensor",
        {"bucket_name": "reports", "prefix": "day/", "inactivity_period": 2},
        {},
    )

    def queue() -> None:
        sqs = servers.aws.client("sqs")
        url = sqs.create_queue(QueueName="events")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody='{"rows": 3}')

    yield aws.sensor(
        "sqs.SqsSensor",
        {"sqs_queue": f"{servers.aws.url}/123456789012/events", "wait_time_seconds": 0},
        {},
        prepare=queue,
    )

    def table() -> None:
        dynamodb = servers.aws.client("dynamodb")
        dynamodb.create_table(
            TableName="orders",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        dynamodb.put_item(TableName="orders", Item={"id": {"S": "o1"}, "state": {"S": "paid"}})

    yield aws.sensor(
        "dynamodb.DynamoDBValueSensor",
        {
            "table_name": "orders",
            "partition_key_name": "id",
            "partition_key_value": "o1",
            "attribute_name": "state",
            "attribute_value": ["paid"],
        },
        {"dynamodb.GetItem": [{"Item": {"id": {"S": "o1"}, "state": {"S": "open"}}}, OTHERS]},
        prepare=table,
    )
    reservation = {"ReservationId": "r1"}
    yield aws.sensor(
        "ec2.EC2InstanceStateSensor",
        {"instance_id": "i-1", "target_state": "running"},
        {"ec2.DescribeInstances": [_instance(reservation, "pending"), _instance(reservation, "running")]},
    )
    clusters = [
        {"Clusters": [{"ClusterIdentifier": "c1", "ClusterStatus": each}]} for each in ("creating", "available")
    ]
    yield aws.sensor(
        "redshift_cluster.RedshiftClusterSensor",
        {"cluster_identifier": "c1"},
        {"redshift.DescribeClusters": clusters},
    )


def _instance(reservation: dict[str, str], state: str) -> dict[str, object]:
    return {"Reservations": [{**reservation, "Instances": [{"InstanceId": "i-1", "State": {"Name": state}}]}]}
