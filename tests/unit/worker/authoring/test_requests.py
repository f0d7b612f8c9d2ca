"""What a workflow function builds of an HTTP request."""

from torpor.authoring import http, text, workflow


def test_a_request_is_a_task_with_its_url_method_and_body() -> None:
    @workflow
    def ask(day: str = "mon") -> None:
        job = http.options(name="submit")("https://x/jobs", method="POST", json={"day": day}, success=[201])
        http.options(fail_when="event.json.failed")(text("https://x/jobs/{id}", id=job.id))

    submitted, looked = ask()["spec"]["tasks"]
    body = {"url": "https://x/jobs", "method": "POST", "success": [201], "json": {"day": "${params.day}"}}
    assert submitted == {"name": "submit", "http": body}
    assert looked["http"] == {"url": "https://x/jobs/${tasks.submit.result.id}"}
    assert looked["failWhen"] == "event.json.failed"
