"""What the profile of a fan-out is built of: how samples are read and attributed, and what is computed from them."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from torpor_expressions.protobuf import field, integer

from benchmarks.profile import api_server, cost, counters, etcd_server, operator_code, pprof, report, rules
from benchmarks.profile.cost import Cost, Stored
from benchmarks.profile.pprof import Sample

_ROOT = Path(__file__).resolve().parents[3]
_HANDLER = "k8s.io/apiserver/pkg/endpoints/handlers.PatchResource.func1"
_LABELS = {"verb": "patch", "resource": "taskruns/status", "client": "worker"}
_METRICS = """# TYPE apiserver_request_total counter
apiserver_request_total{code="200",dry_run="",resource="taskruns",subresource="status",verb="PATCH"} 3
apiserver_request_total{code="200",dry_run="All",resource="taskruns",subresource="status",verb="PATCH"} 1
apiserver_request_total{code="422",resource="taskruns",subresource="status",verb="PATCH"} 1
apiserver_request_total{code="200",resource="pods",subresource="",verb="LIST"} 2
apiserver_current_inflight_requests 7
"""


def sample(*stack: str, labels: dict[str, str] | None = None, seconds: float = 1.0) -> Sample:
    return Sample(stack=stack, labels=labels or {}, seconds=seconds)


def profile() -> bytes:
    """One sample of 20 ms in `inner`, inlined into `outer`, which `main` calls, with a label."""
    texts = ("", "cpu", "inner", "outer", "main", "verb", "patch")
    functions = [integer(1, number) + integer(2, number + 1) for number in (1, 2, 3)]
    lines = [field(4, integer(1, number)) for number in (1, 2, 3)]
    locations = [integer(1, 1) + lines[0] + lines[1], integer(1, 2) + lines[2]]
    one = (
        integer(1, 1)
        + integer(1, 2)
        + field(2, b"\x02" + b"\x80\xda\xc4\x09")
        + field(3, integer(1, 5) + integer(2, 6))
    )
    parts = [field(2, one), *(field(4, each) for each in locations), *(field(5, each) for each in functions)]
    return gzip.compress(b"".join([*parts, *(field(6, text.encode()) for text in texts)]))


def whole() -> Cost:
    samples = [
        sample(_HANDLER, labels=_LABELS, seconds=3.0),
        sample("k8s.io/apiserver/pkg/admission/plugin/policy/validating.x", _HANDLER, labels=_LABELS, seconds=5.0),
        sample("runtime.gcBgMarkWorker", seconds=2.0),
    ]
    return Cost(
        tasks=1000,
        wall=20.0,
        cpu={"kube-apiserver": 11.0, "etcd": 2.0, "operator": 4.0, "foreign": 100.0},
        samples={
            "kube-apiserver": samples,
            "etcd": [sample("go.etcd.io/etcd/server/v3/storage/wal.(*WAL).Save")],
            "operator": [sample("json.decoder.decode", "torpor_kubernetes.client.decoding.decode_event", seconds=7)],
        },
        api_server={
            counters.BY_CLIENT: Counter({("patch", "taskruns/status", "worker"): 2000}),
            counters.REQUESTS: Counter(
                {("PATCH", "taskruns", "status", "200"): 1990, ("PATCH", "taskruns", "status", "422"): 10}
            ),
            counters.WATCH_EVENTS: Counter({("torpor.dev", "taskruns"): 6000}),
            counters.WATCH_BYTES: Counter({("torpor.dev", "taskruns"): 12_000_000}),
        },
        etcd={name: Counter({(): 8000}) for name in (counters.PUTS, counters.WAL, counters.SENT, counters.RECEIVED)},
        stored={"pods": Stored(objects=1000, size=4_500_000, writes=4000)},
        parts={"pods": {"managedFields": 2000, "spec": 1500}},
    )


def test_a_profile_is_read_with_inlined_functions_and_labels() -> None:
    (found,) = pprof.parse(profile())
    assert found == Sample(stack=("inner", "outer", "main"), labels={"verb": "patch"}, seconds=0.02)


def test_the_first_rule_decides_however_deep_its_function_is() -> None:
    ordered = (rules.Rule("policy", ("policy.",)), rules.Rule("json", ("json.",)))
    assert rules.activity(("json.decode", "policy.check", "main"), ordered) == "policy"
    assert rules.activity(("main",), ordered) == rules.OTHER


def test_a_labelled_sample_is_of_its_request() -> None:
    assert api_server.kind(sample(_HANDLER, labels=_LABELS)) == ("patch taskruns/status", "worker")


def test_the_watch_cache_is_not_of_the_request_that_started_it() -> None:
    kind, client = api_server.kind(
        sample("json.x", "k8s.io/apiserver/pkg/storage/etcd3.(*watchChan).run", labels=_LABELS)
    )
    assert kind.startswith("(watch cache")
    assert client == ""


def test_a_policy_is_told_from_the_rules_of_the_crd() -> None:
    policy = sample("interpreter.Eval", "k8s.io/apiserver/pkg/admission/plugin/policy/validating.x", _HANDLER)
    rule = sample(
        "interpreter.Eval", "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel.(*Validator).x", _HANDLER
    )
    assert api_server.does(policy) == "admission policies (CEL)"
    assert api_server.does(rule) == "rules of the CRD (CEL)"


def test_garbage_collection_within_a_request_is_the_requests() -> None:
    found = sample("runtime.gcAssistAlloc", "runtime.mallocgc", _HANDLER, labels=_LABELS)
    assert api_server.kind(found)[0] == "patch taskruns/status"
    assert api_server.does(found) == "garbage collection"


def test_counters_are_summed_over_the_labels_that_do_not_matter() -> None:
    found = counters.of_api_server(_METRICS)[counters.REQUESTS]
    assert found == {
        ("PATCH", "taskruns", "status", "200"): 4,
        ("PATCH", "taskruns", "status", "422"): 1,
        ("LIST", "pods", "", "200"): 2,
    }


def test_only_what_was_counted_since_is_growth() -> None:
    before, after = counters.of_api_server(_METRICS), counters.of_api_server(_METRICS.replace("} 3", "} 13"))
    assert counters.growth(before, after)[counters.REQUESTS] == {("PATCH", "taskruns", "status", "200"): 10}


def test_objects_are_counted_by_resource_if_they_were_written_since() -> None:
    before = {"/registry/pods/ns/old": (100, 2), "/registry/leases/ns/a": (50, 1)}
    after = before | {"/registry/pods/ns/new": (300, 4), "/registry/torpor.dev/taskruns/ns/a": (200, 3)}
    after["/registry/leases/ns/a"] = (60, 3)
    assert cost.stored(before, after) == {
        "leases": Stored(objects=1, size=60, writes=2),
        "pods": Stored(objects=1, size=300, writes=4),
        "torpor.dev/taskruns": Stored(objects=1, size=200, writes=3),
    }


def test_an_object_is_measured_in_parts() -> None:
    body = {"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "spec": {"task": "t"}}
    assert cost.parts(body) == {"managedFields": 17, "other metadata": 12, "spec": 12, "status": 2}


def test_the_tables_state_each_request_activity_and_process() -> None:
    text = report.tables(whole())
    assert "| patch taskruns/status | worker | 2.00 | 4.00 | 8.00 | 80.0 % |" in text
    assert "| (garbage collection) |  |  |  | 2.00 | 20.0 % |" in text
    assert "| (CPU of the process without a sample) |  |  |  | 1.00 |  |" in text
    assert "| admission policies (CEL) | 5.00 | 5.00 | 0.00 | 0.00 |" in text
    assert "| log of writes (WAL) | 2.00 | 100.0 % |" in text
    assert "| patch taskruns/status | 2,000 | 2.00 | 10 |" in text
    assert "| taskruns.torpor.dev | 6,000 | 6.00 | 2,000 |" in text
    assert "| pods | 1,000 | 4,500 | 4.00 | 4,500 |" in text
    assert "| pods | 2,000 | 1,500 | 3,500 |" in text
    assert "(0.0 % not attributed)" in text


def test_what_no_rule_names_is_shown_as_not_attributed() -> None:
    known = whole()
    samples = [*known.samples["kube-apiserver"], sample("strange.function", seconds=10.0)]
    strange = replace(known, samples=dict(known.samples) | {"kube-apiserver": samples})
    assert report.unattributed(strange) == 0.5


@pytest.mark.parametrize("rules_of", [api_server.ACTIVITIES, etcd_server.ACTIVITIES, operator_code.ACTIVITIES])
def test_no_rule_is_hidden_by_one_before_it(rules_of: tuple[rules.Rule, ...]) -> None:
    for at, rule in enumerate(rules_of):
        for part in rule.parts:
            assert rules.activity((part,), rules_of[:at]) in {rules.OTHER, rule.activity}, part


def test_a_module_is_sampled_between_the_two_signals(tmp_path: Path) -> None:
    (tmp_path / "spinning.py").write_text(
        "def spin():\n    print('spins', flush=True)\n    while True:\n        pass\nspin()\n"
    )
    words = (sys.executable, "-m", "benchmarks.profile.sampled", str(tmp_path / "stacks.json"), "spinning")
    path = os.pathsep.join((str(_ROOT), str(tmp_path)))
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path}) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"spins\n"
            process.send_signal(signal.SIGUSR1)
            _spend_cpu_of(process.pid)
            process.send_signal(signal.SIGUSR2)
            while not (tmp_path / "stacks.json").exists():
                time.sleep(0.02)
        finally:
            process.kill()
    stacks = json.loads((tmp_path / "stacks.json").read_text())
    assert stacks[0][0][:2] == ["__main__.spin", "__main__.<module>"]
    assert sum(count for _, count in stacks) > 0


def _spend_cpu_of(pid: int) -> None:
    """Return after the process has used half a second more of processor time."""

    def used() -> int:
        return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))

    before = used()
    while used() - before < os.sysconf("SC_CLK_TCK") / 2:
        time.sleep(0.02)
