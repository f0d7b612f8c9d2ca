"""What each translation of an Argo example shows. The keys are files in examples/from-argo."""

from collections.abc import Mapping
from unittest.mock import ANY

from tests.e2e.examples.translation import FAILED, SKIPPED, UPSTREAM_FAILED, Expectation, Unsuccessful

LOCAL: Mapping[str, Expectation] = {
    "hello-world": Expectation(tasks={"print_message": "hello world"}),
    "steps": Expectation(tasks={"hello1": "hello1", "hello2a": "hello2a", "hello2b": "hello2b"}),
    "dag-diamond": Expectation(tasks={"a": "A", "b": "AB", "c": "AC", "d": "AB AC"}),
    "dag-multiroot": Expectation(tasks={"a": "A", "b": "B", "c": "C", "d": "D"}),
    "coinflip": Expectation(
        tasks={"flip_coin": "heads", "heads": "it was heads", "tails": Unsuccessful(SKIPPED)},
        others=[{"flip_coin": "tails", "tails": "it was tails", "heads": Unsuccessful(SKIPPED)}],
    ),
    "coinflip-recursive": Expectation(tasks={"flip_coin": "heads", "heads": "it was heads"}),
    "conditionals": Expectation(tasks={"if_true": "printed", "if_false": Unsuccessful(SKIPPED), "if_both": "both"}),
    "conditional-parameters": Expectation(
        tasks={"heads": "it was heads", "tails": Unsuccessful(SKIPPED), "report": "it was heads"}
    ),
    "loops": Expectation(tasks={"print_message": ["hello world", "goodbye world"]}),
    "loops-maps": Expectation(tasks={"cat_os_release": ["debian 13", "ubuntu 24.04"]}),
    "loops-param-argument": Expectation(tasks={"cat_os_release": ["debian:13", "alpine:3.22"]}),
    "loops-param-result": Expectation(
        tasks={
            "gen_number_list": [20, 21],
            "sleep_n_sec": [f"slept {number} seconds" for number in range(20, 22)],
        }
    ),
    "loops-sequence": Expectation(tasks={"echo": ["user-01", "user-02", "user-03"], "wait": ["done"] * 3}),
    "loops-dag": Expectation(
        tasks={"first": ["first a", "first b"], "second": ["first a, then second", "first b, then second"]}
    ),
    "arguments-parameters": Expectation(tasks={"print_message": "bye"}, options=["-p", "message=bye"]),
    "global-parameters": Expectation(tasks={"a": "a logs INFO", "b": "b logs INFO"}),
    "output-parameter": Expectation(tasks={"generate": "hello world", "consume": "got hello world"}),
    "parameter-aggregation": Expectation(
        tasks={
            "odd_or_even": [{"number": number, "kind": "odd" if number % 2 else "even"} for number in range(1, 3)],
            "print": 'all: [{"number":1,"kind":"odd"},{"number":2,"kind":"even"}]',
            "divide_by_2": [1],
        }
    ),
    "handle-large-output-results": Expectation(
        tasks={
            "get_items": [{"id": number, "text": "x" * 100} for number in range(3)],
            "echo": [f"item {number}" for number in range(3)],
        }
    ),
    "fibonacci": Expectation(tasks={"sequence": [0, 1, 1, 2, 3, 5, 8, 13, 21, 34], "large": "21 34"}),
    "exit-handlers": Expectation(
        state="Failed",
        tasks={
            "intentional_fail": Unsuccessful(FAILED),
            "send_email": "send e-mail: {run} Failed",
            "celebrate": Unsuccessful(SKIPPED),
            "cry": "boohoo: Error",
        },
    ),
    "life-cycle-hooks": Expectation(
        tasks={
            "step": Unsuccessful(FAILED),
            "on_failure": "the step is Failed",
            "on_success": Unsuccessful(UPSTREAM_FAILED),
        }
    ),
    "retry-container": Expectation(tasks={"retry_container": "attempt 3"}),
    "retry-container-to-completion": Expectation(tasks={"retry_to_completion": "attempt 3"}),
    "retry-backoff": Expectation(state="Failed", tasks={"retry_backoff": Unsuccessful(FAILED)}),
    "retry-conditional": Expectation(
        tasks={"safe_to_retry": Unsuccessful(FAILED), "not_safe_to_retry": Unsuccessful(FAILED)},
        attempts={"safe_to_retry": 3, "not_safe_to_retry": 1},
    ),
    "retry-on-error": Expectation(
        state="Failed", tasks={"error_container": Unsuccessful(FAILED)}, attempts={"error_container": 1}
    ),
    "exit-code-output-variable": Expectation(tasks={"failing_container": 7, "print": "exit code 7"}),
    "scripts-bash": Expectation(tasks={"generate": 27, "print": "result was: 27"}),
    "scripts-python": Expectation(tasks={"gen_random_int": 42, "print_message": "result was: 42"}),
    "artifact-passing": Expectation(tasks={"generate_artifact": None, "consume_artifact": "hello world"}),
    "artifact-disable-archive": Expectation(tasks={"generate_artifact": None, "consume_artifact": "raw\npacked"}),
    "artifacts-optional": Expectation(tasks={"maybe": None, "read": "missing"}),
    "input-artifact-raw": Expectation(tasks={"raw_contents": "hello Ann, this is a file"}),
    "map-reduce": Expectation(
        tasks={"split": [{"part": part, "foo": part} for part in range(3)], "map": [None] * 3, "reduce": 6}
    ),
    "dag-continue-on-fail": Expectation(
        tasks={"a": "A", "b": Unsuccessful(FAILED), "c": "C", "d": Unsuccessful(UPSTREAM_FAILED)}
    ),
    "dag-enhanced-depends": Expectation(
        tasks={
            "passes": None,
            "fails": Unsuccessful(FAILED),
            "skipped": Unsuccessful(SKIPPED),
            "should_execute_1": "A succeeded or was skipped",
            "should_execute_2": "B failed and C was skipped",
            "should_not_execute": Unsuccessful(UPSTREAM_FAILED),
        }
    ),
    "dag-targets": Expectation(tasks={"a": "A", "b": Unsuccessful(SKIPPED), "c": "C"}),
    "expression-tag-template-workflow": Expectation(tasks={"print": "2-4-6-8 TORPOR VG9ycG9y 8 items"}),
    "data-transformations": Expectation(
        tasks={"collect": ["in/a.pdf", "in/b.txt", "in/c.pdf"], "process": ["process a.pdf", "process c.pdf"]}
    ),
    "suspend-template": Expectation(
        tasks={"build": "built", "approve": {"approved": True}, "delay": ANY, "release": "released"},
        options=["--event", 'approve={"approved": true}'],
    ),
    "suspend-template-outputs": Expectation(
        tasks={"approve": "v2", "release": "released v2"},
        options=["--answer", 'approve={"fields": {"version": "v2"}}'],
    ),
    "timeouts-step": Expectation(state="Failed", tasks={"sleep": Unsuccessful(FAILED)}),
    "timeouts-workflow": Expectation(state="Failed", tasks={"wait": Unsuccessful("Cancelled"), "notify": "Timeout"}),
    "node-selector": Expectation(tasks={"print": "on linux"}),
    "resource-limits": Expectation(tasks={"limited": "within limits"}),
    "pod-metadata": Expectation(tasks={"print": "labelled"}),
    "template-defaults": Expectation(
        tasks={"flaky": "attempt 2", "never": Unsuccessful(FAILED)}, attempts={"never": 1}
    ),
    "parallelism-limit": Expectation(tasks={"sleep": [0, 1, 2]}),
    "work-avoidance": Expectation(tasks={"check": [True, False], "work": ["worked on shard-2"]}),
    "k8s-wait": Expectation(
        tasks={"wait": "2026-11-20T08:00:00Z", "after": "migrate is complete"},
        options=["--event", 'wait={"name": "migrate", "result": "2026-11-20T08:00:00Z"}'],
    ),
    "http-hello-world": Expectation(
        tasks={"good": "ok", "print": "the server is ok"},
        options=["-p", "url={url}"],
    ),
    "synchronization-mutex": Expectation(
        tasks={"acquire_lock": ["1 had the lock", "2 had the lock", "3 had the lock"]}
    ),
    "workflow-template": Expectation(tasks={"print_message": "hello from a template"}),
}
"""Examples that `torpor run` plays."""

CLUSTER: Mapping[str, Expectation] = {
    "sidecar": Expectation(tasks={"fetch": 200}),
    "init-container": Expectation(tasks={"hello": "bar"}),
    "volumes-emptydir": Expectation(tasks={"write_and_read": "data"}),
    "secrets": Expectation(tasks={"print_secret": "variable has 6 characters; s3cret"}),
    "container-set-template": Expectation(tasks={"pack": {"a": "a", "b": 2}, "print": "a has 2 lines"}),
    "volumes-pvc": Expectation(tasks={"generate": None, "print": "generated"}),
    "node-selector": Expectation(tasks={"print": "on linux"}),
    "resource-limits": Expectation(tasks={"limited": "within limits"}),
    "pod-metadata": Expectation(tasks={"print": "labelled"}),
}
"""Examples with sidecars, volumes and Secrets, or with fields that a local run ignores."""

SCHEDULES = frozenset({"cron-workflow", "workflow-event-binding"})
