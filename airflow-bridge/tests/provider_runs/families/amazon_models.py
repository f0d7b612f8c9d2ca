"""Operators of Bedrock, Comprehend and SageMaker."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from provider_runs.families.aws_row import ROLE, AwsRows, classifier_states, states
from provider_runs.row import ProviderRow
from provider_runs.servers.aws import AwsError
from provider_runs.servers.started import RowServers

_QUICK = {"waiter_delay": 1, "waiter_max_attempts": 60}
_NOW = datetime(2026, 11, 26, tzinfo=UTC)
_ARN = "arn:aws:bedrock:us-east-1:123456789012"


def rows(servers: RowServers) -> Iterator[ProviderRow]:
    """Yield the rows."""
    aws = AwsRows(servers, "amazon/models")
    yield from _bedrock(aws)
    yield from _agents(aws)
    yield from _comprehend(aws)
    yield from _sagemaker_jobs(aws, servers)
    yield from _sagemaker(aws, servers)


def _bedrock(aws: AwsRows) -> Iterator[ProviderRow]:
    job = f"{_ARN}:model-customization-job/m/abcdef123456"
    yield aws.operator(
        "bedrock.BedrockCustomizeModelOperator",
        {
            "job_name": "job",
            "custom_model_name": "mine",
            "role_arn": ROLE,
            "base_model_id": "amazon.titan-text-express-v1",
            "training_data_uri": "s3://b/train.jsonl",
            "output_data_uri": "s3://b/out",
            "hyperparameters": {"epochCount": "1"},
            **_QUICK,
        },
        {
            "bedrock.CreateModelCustomizationJob": {"jobArn": job},
            "bedrock.GetModelCustomizationJob": states("status", "InProgress", "Completed", jobArn=job),
        },
        result=job,
    )
    model = f"{_ARN}:provisioned-model/abcdef123456"
    yield aws.operator(
        "bedrock.BedrockCreateProvisionedModelThroughputOperator",
        {"model_units": 1, "provisioned_model_name": "mine", "model_id": "amazon.titan-text-express-v1", **_QUICK},
        {
            "bedrock.CreateProvisionedModelThroughput": {"provisionedModelArn": model},
            "bedrock.GetProvisionedModelThroughput": states("status", "Creating", "InService"),
        },
        result=model,
    )
    batch = f"{_ARN}:model-invocation-job/abcdef123456"
    yield aws.operator(
        "bedrock.BedrockBatchInferenceOperator",
        {
            "job_name": "job",
            "role_arn": ROLE,
            "model_id": "amazon.titan-text-express-v1",
            "input_uri": "s3://b/in",
            "output_uri": "s3://b/out/",
            **_QUICK,
        },
        {
            "bedrock.CreateModelInvocationJob": {"jobArn": batch},
            "bedrock.GetModelInvocationJob": states("status", "InProgress", "Completed"),
        },
        result=batch,
    )


def _agents(aws: AwsRows) -> Iterator[ProviderRow]:
    base = {"knowledgeBaseId": "KB12345678"}
    yield aws.operator(
        "bedrock.BedrockCreateKnowledgeBaseOperator",
        {
            "name": "base",
            "embedding_model_arn": f"{_ARN}:foundation-model/amazon.titan-embed-text-v1",
            "role_arn": ROLE,
            "storage_config": {"type": "PINECONE"},
            **_QUICK,
        },
        {
            "bedrock-agent.CreateKnowledgeBase": {"knowledgeBase": base},
            "bedrock-agent.GetKnowledgeBase": states("knowledgeBase.status", "CREATING", "ACTIVE"),
        },
        result="KB12345678",
    )
    yield aws.operator(
        "bedrock.BedrockIngestDataOperator",
        {"knowledge_base_id": "KB12345678", "data_source_id": "DS12345678", **_QUICK},
        {
            "bedrock-agent.StartIngestionJob": {"ingestionJob": {"ingestionJobId": "IJ12345678"}},
            "bedrock-agent.GetIngestionJob": states("ingestionJob.status", "IN_PROGRESS", "COMPLETE"),
        },
        result="IJ12345678",
    )
    runtime = {"agentRuntimeArn": "arn:r", "agentRuntimeId": "agent-abcdefghij", "agentRuntimeVersion": "1"}
    image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/agent:1"
    yield aws.operator(
        "bedrock.BedrockCreateAgentRuntimeOperator",
        {
            "agent_runtime_name": "agent",
            "agent_runtime_artifact": {"containerConfiguration": {"containerUri": image}},
            "role_arn": ROLE,
            "network_configuration": {"networkMode": "PUBLIC"},
            **_QUICK,
        },
        {
            "bedrock-agentcore-control.CreateAgentRuntime": runtime,
            "bedrock-agentcore-control.GetAgentRuntime": states("status", "CREATING", "READY"),
        },
        result="arn:r",
    )
    gone = AwsError(code="ResourceNotFoundException", status=404)
    yield aws.operator(
        "bedrock.BedrockDeleteAgentRuntimeOperator",
        {"agent_runtime_id": "agent-abcdefghij", **_QUICK},
        {
            "bedrock-agentcore-control.DeleteAgentRuntime": {"status": "DELETING"},
            "bedrock-agentcore-control.GetAgentRuntime": [*states("status", "DELETING"), gone],
        },
    )


def _comprehend(aws: AwsRows) -> Iterator[ProviderRow]:
    data = {"input_data_config": {"S3Uri": "s3://b/in", "InputFormat": "ONE_DOC_PER_LINE"}, "language_code": "en"}
    pii = states("PiiEntitiesDetectionJobProperties.JobStatus", "IN_PROGRESS", "COMPLETED")
    yield aws.operator(
        "comprehend.ComprehendStartPiiEntitiesDetectionJobOperator",
        {
            **data,
            "output_data_config": {"S3Uri": "s3://b/out"},
            "mode": "ONLY_REDACTION",
            "data_access_role_arn": ROLE,
            "start_pii_entities_kwargs": {"RedactionConfig": {"PiiEntityTypes": ["NAME"]}},
            **_QUICK,
        },
        {
            "comprehend.StartPiiEntitiesDetectionJob": {"JobId": "j1"},
            "comprehend.DescribePiiEntitiesDetectionJob": pii,
        },
        result="j1",
    )
    classifier = "arn:aws:comprehend:us-east-1:123456789012:document-classifier/one"
    yield aws.operator(
        "comprehend.ComprehendCreateDocumentClassifierOperator",
        {
            "input_data_config": {"S3Uri": "s3://b/in", "DataFormat": "COMPREHEND_CSV"},
            "language_code": "en",
            "document_classifier_name": "one",
            "mode": "MULTI_CLASS",
            "data_access_role_arn": ROLE,
            **_QUICK,
        },
        {
            "comprehend.CreateDocumentClassifier": {"DocumentClassifierArn": classifier},
            "comprehend.DescribeDocumentClassifier": classifier_states(),
        },
    )


def _input(servers: RowServers) -> None:
    s3 = servers.aws.client("s3")
    s3.create_bucket(Bucket="data")
    s3.put_object(Bucket="data", Key="in", Body=b"1,2")


def _sagemaker_jobs(aws: AwsRows, servers: RowServers) -> Iterator[ProviderRow]:
    cluster = {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1}
    quick = {"check_interval": 1, "print_log": False}
    arn = "arn:aws:sagemaker:us-east-1:123456789012:job/one"
    missing = AwsError(code="ValidationException", message="Could not find requested job with name: one")
    yield aws.operator(
        "sagemaker.SageMakerProcessingOperator",
        {
            "config": {
                "ProcessingJobName": "one",
                "ProcessingResources": {"ClusterConfig": cluster},
                "AppSpecification": {"ImageUri": "image:1"},
                "RoleArn": ROLE,
            },
            **quick,
        },
        {
            "sagemaker.CreateProcessingJob": {"ProcessingJobArn": arn},
            "sagemaker.DescribeProcessingJob": [
                missing,
                *states("ProcessingJobStatus", "InProgress", "InProgress", "Completed", CreationTime=_NOW),
            ],
        },
        defers=["SageMakerTrigger"],
    )
    training = {
        "TrainingJobName": "one",
        "AlgorithmSpecification": {"TrainingImage": "image:1", "TrainingInputMode": "File"},
        "RoleArn": ROLE,
        "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
        "ResourceConfig": cluster,
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }
    yield aws.operator(
        "sagemaker.SageMakerTrainingOperator",
        {"config": training, **quick},
        {
            "sagemaker.CreateTrainingJob": {"TrainingJobArn": arn},
            "sagemaker.DescribeTrainingJob": [
                missing,
                *states("TrainingJobStatus", "InProgress", "InProgress", "Completed", CreationTime=_NOW),
            ],
        },
    )
    transform = {
        "TransformJobName": "one",
        "ModelName": "model",
        "TransformInput": {"DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/in"}}},
        "TransformOutput": {"S3OutputPath": "s3://b/out"},
        "TransformResources": {"InstanceCount": 1, "InstanceType": "ml.m5.large"},
    }
    yield aws.operator(
        "sagemaker.SageMakerTransformOperator",
        {"config": transform, "check_interval": 1},
        {
            "sagemaker.CreateTransformJob": {"TransformJobArn": arn},
            "sagemaker.DescribeModel": {"ModelName": "model"},
            "sagemaker.DescribeTransformJob": [
                missing,
                *states("TransformJobStatus", "InProgress", "InProgress", "Completed", ModelName="model"),
            ],
        },
        prepare=lambda: _input(servers),
    )


def _sagemaker(aws: AwsRows, servers: RowServers) -> Iterator[ProviderRow]:
    arn = "arn:aws:sagemaker:us-east-1:123456789012:one"
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://data/in"}}
    tuning = {
        "HyperParameterTuningJobName": "one",
        "HyperParameterTuningJobConfig": {
            "Strategy": "Bayesian",
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1},
        },
        "TrainingJobDefinition": {
            "AlgorithmSpecification": {"TrainingInputMode": "File"},
            "InputDataConfig": [{"ChannelName": "train", "DataSource": source}],
            "RoleArn": ROLE,
            "OutputDataConfig": {"S3OutputPath": "s3://b/out"},
            "ResourceConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 1},
            "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        },
    }
    yield aws.operator(
        "sagemaker.SageMakerTuningOperator",
        {"config": tuning, "check_interval": 1},
        {
            "sagemaker.CreateHyperParameterTuningJob": {"HyperParameterTuningJobArn": arn},
            "sagemaker.DescribeHyperParameterTuningJob": states(
                "HyperParameterTuningJobStatus", "InProgress", "Completed"
            ),
        },
        prepare=lambda: _input(servers),
    )
    yield aws.operator(
        "sagemaker.SageMakerEndpointOperator",
        {"config": {"EndpointName": "one", "EndpointConfigName": "config"}, "check_interval": 1},
        {
            "sagemaker.CreateEndpoint": {"EndpointArn": arn},
            "sagemaker.DescribeEndpoint": states(
                "EndpointStatus", "Creating", "InService", EndpointName="one", EndpointConfigName="config"
            ),
            "sagemaker.DescribeEndpointConfig": {"EndpointConfigName": "config"},
        },
    )
    execution = "arn:aws:sagemaker:us-east-1:123456789012:pipeline/p/execution/one"
    steps: dict[str, Any] = {"PipelineExecutionSteps": []}
    yield aws.operator(
        "sagemaker.SageMakerStartPipelineOperator",
        {"pipeline_name": "p", "check_interval": 1},
        {
            "sagemaker.StartPipelineExecution": {"PipelineExecutionArn": execution},
            "sagemaker.DescribePipelineExecution": states("PipelineExecutionStatus", "Executing", "Succeeded"),
            "sagemaker.ListPipelineExecutionSteps": steps,
        },
        result=execution,
    )
    yield aws.operator(
        "sagemaker.SageMakerStopPipelineOperator",
        {"pipeline_exec_arn": execution, "check_interval": 1},
        {
            "sagemaker.StopPipelineExecution": {"PipelineExecutionArn": execution},
            "sagemaker.DescribePipelineExecution": states("PipelineExecutionStatus", "Stopping", "Stopping", "Stopped"),
            "sagemaker.ListPipelineExecutionSteps": steps,
        },
        result="Stopped",
    )
