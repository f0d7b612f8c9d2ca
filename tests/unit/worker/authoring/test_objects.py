"""What a workflow function builds of an object of the cluster."""

from torpor.authoring import object_task, wait, workflow


def test_an_object_is_a_task_with_its_manifest_and_conditions() -> None:
    @workflow
    def train() -> None:
        width = wait("http", url="https://example.org/width")
        job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"parallelism": width["n"]}}
        object_task(job, until="object.status.succeeded > 0", delete_on_end="Always", service_account_name="trainer")
        crd = {"apiVersion": "spark.example.org/v1", "kind": "SparkApplication", "metadata": {"name": "pi"}}
        object_task(crd, action="delete")
        object_task(crd, manifest_from={"name": "jobs", "key": "pi.yaml"})

    _, job, spark, other = train()["spec"]["tasks"]
    assert job == {
        "name": "job",
        "object": {
            "manifest": {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "spec": {"parallelism": "${tasks.http.result.n}"},
            },
            "until": "object.status.succeeded > 0",
            "deleteOnEnd": "Always",
            "serviceAccountName": "trainer",
        },
    }
    assert (spark["name"], spark["object"]["action"]) == ("spark_application", "delete")
    assert other["object"]["manifestFrom"] == {"configMapKeyRef": {"name": "jobs", "key": "pi.yaml"}}
