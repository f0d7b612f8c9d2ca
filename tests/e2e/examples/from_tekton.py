"""What each translation of a Tekton example shows. The keys are files in examples/from-tekton."""

from collections.abc import Mapping

from tests.e2e.examples.translation import FAILED, SKIPPED, Expectation, Unsuccessful

LOCAL: Mapping[str, Expectation] = {
    "hello-world": Expectation(tasks={"hello": "hello world"}),
    "pipelinerun-ordering": Expectation(tasks={"build": "v1", "test": "tested", "deploy": "deployed v1"}),
    "pipelinerun-results": Expectation(tasks={"add": {"sum": 30, "product": 200}, "print": "30 and 200"}),
    "when-expressions": Expectation(
        tasks={
            "check_file": "yes",
            "echo_file_exists": "file exists",
            "not_in": Unsuccessful(SKIPPED),
            "after_skipped": Unsuccessful(SKIPPED),
            "cel": "has a release branch",
        }
    ),
    "final-tasks": Expectation(
        state="Failed",
        tasks={
            "clone": "abc123",
            "check": Unsuccessful(FAILED),
            "cleanup": "cleaned up abc123",
            "report": "check is Failed, the run is Failed",
        },
    ),
    "workspaces": Expectation(tasks={"write": None, "read": "hello"}),
    "configmap-workspace": Expectation(tasks={"read": "hello from a ConfigMap\ninfo"}),
    "matrix": Expectation(
        tasks={
            "platforms": ["linux", "mac"],
            "test": ["linux chrome", "linux safari", "mac chrome", "mac safari"],
            "collect": "linux chrome, linux safari, mac chrome, mac safari",
        }
    ),
    "matrix-include": Expectation(
        tasks={"build": ["build-1 from path/to/Dockerfile1", "build-2 from path/to/Dockerfile2"]}
    ),
    "retries": Expectation(tasks={"flaky": "attempt 3"}, attempts={"flaky": 3}),
    "timeouts": Expectation(state="Failed", tasks={"too_long": Unsuccessful(FAILED), "finally": "Failed"}),
    "params-array": Expectation(tasks={"print": "4 words: first --verbose --color last"}),
    "params-object": Expectation(
        tasks={
            "write": {"digest": "abc", "url": "registry.example.org/app"},
            "print": "registry.example.org/app:1.4 is abc",
        }
    ),
    "param-enum": Expectation(tasks={"release": "beta 1"}),
    "step-script": Expectation(tasks={"shell": "shell got one", "shebang": "bash got 2", "python": "python got a b"}),
    "ignore-failure": Expectation(tasks={"fails": Unsuccessful(FAILED), "continues": "fails is Failed"}),
    "ignore-step-error": Expectation(tasks={"unit_tests": 1, "upload_report": "the tests ended with 1"}),
    "step-template": Expectation(tasks={"inherits": "bar all", "replaces": "baz all"}),
    "workingdir": Expectation(tasks={"where": "/tmp"}),
    "custom-task-wait": Expectation(
        tasks={"before": "before", "wait": "waited", "then": "waited, then after"}, options=["-p", "pause=10h"]
    ),
    "tasks-status": Expectation(
        tasks={
            "task1": Unsuccessful(FAILED),
            "only_after_failure": "task1 failed, the run is Succeeded",
            "only_after_success": Unsuccessful(SKIPPED),
        }
    ),
}
"""Examples that `torpor run` plays."""

CLUSTER: Mapping[str, Expectation] = {
    "sidecar": Expectation(tasks={"check": "ready"}),
    "steps": Expectation(tasks={"build": {"compile": "compiled", "digest": "fba13a37"}, "print": "compiled fba13a37"}),
    "volume-claim-workspace": Expectation(tasks={"clone": None, "test": "hello"}),
}
"""Examples with sidecars or with several steps in a pod."""
