"""Attributes samples of the API server's CPU profile: to a request by label, and to an activity by function.

`dev/go/apiserver` sets the labels. A goroutine that serves no single request has those of the request that started it,
so `BACKGROUND` has precedence. Pure.
"""

from benchmarks.profile.pprof import ProfileSample
from benchmarks.profile.rules import OTHER, ActivityRule, activity

_COLLECTION = (
    "runtime.gcBgMarkWorker",
    "runtime.gcAssistAlloc",
    "runtime.bgsweep",
    "runtime.bgscavenge",
    "runtime.gcStart",
    "runtime.gcDrain",
    "runtime.gcMark",
    "runtime.sweepone",
    "runtime.wbBufFlush",
    "runtime.(*sweepLocked)",
)
_ADMISSION = ("k8s.io/apiserver/pkg/admission", "k8s.io/kubernetes/plugin/pkg/admission", "pod-security-admission")

ACTIVITIES = (
    ActivityRule("garbage collection", _COLLECTION),
    ActivityRule("rules of the CRD (CEL)", ("apiextensions-apiserver/pkg/apiserver/schema/cel",)),
    ActivityRule("admission policies (CEL)", ("k8s.io/apiserver/pkg/admission/plugin/policy/",)),
    ActivityRule("authentication", (".AuthenticateRequest", ".AuthenticateToken")),
    ActivityRule("other admission plugins", _ADMISSION),
    ActivityRule("managedFields", ("managedfields", "structured-merge-diff", "/handlers/fieldmanager")),
    ActivityRule("authorization", (".Authorize", ".RulesFor", ".VisitRulesFor")),
    ActivityRule(
        "defaulting, pruning and coercion by the schema",
        (
            "apiserver/schema/defaulting",
            "apiserver/schema/pruning",
            "apiserver/schema/objectmeta",
            "schemaCoercing",
            "unstructuredDefaulter",
            "SetDefaults_",
            "SetObjectDefaults_",
        ),
    ),
    ActivityRule(
        "validation by the schema",
        (
            "apiextensions-apiserver/pkg/apiserver/validation",
            "apiserver/schema/listtype",
            "kube-openapi/pkg/validation",
            "k8s.io/kubernetes/pkg/apis/core/validation",
            "k8s.io/apimachinery/pkg/api/validation",
        ),
    ),
    ActivityRule(
        "watch: encoding and sending", ("handlers.(*WatchServer)", "handlers.(*watchEncoder)", "cacher.(*cacheWatcher)")
    ),
    ActivityRule(
        "response: encoding and sending", ("responsewriters", "transformResponseObject", "handlers.transformObject")
    ),
    ActivityRule(
        "patch: to JSON, applied, and back", ("jsonpatch", "strategicpatch", "jsonPatcher", "smpPatcher", "mergepatch")
    ),
    ActivityRule("etcd client", ("go.etcd.io/etcd/client", "google.golang.org/grpc", "otelgrpc")),
    ActivityRule("decoding of stored objects", ("etcd3.(*defaultDecoder)", "etcd3.decode", "etcd3.(*store).getState")),
    ActivityRule("decoding", (".Decode", ".Unmarshal", "json.unmarshal", "ConvertToVersion")),
    ActivityRule("encoding for etcd", (".Encode", ".Marshal", "runtime.Encode")),
    ActivityRule("deep copies", (".DeepCopy", "DeepCopyJSON", "DeepCopyInto")),
    ActivityRule(
        "storage", ("storage/etcd3", "storage/cacher", "registry/generic/registry", "registry/customresource")
    ),
    ActivityRule(
        "audit and metrics",
        ("prometheus", "component-base/metrics", "/audit.", "k8s.io/klog", "component-base/tracing"),
    ),
    ActivityRule("other parts of the handler", ("endpoints/handlers", "apiserver.(*crdHandler)")),
    ActivityRule("priority and fairness", ("flowcontrol", "priorityAndFairness")),
    ActivityRule(
        "HTTP, TLS and filters", ("net/http", "crypto/tls", "golang.org/x/net", "endpoints/filters", "server/filters")
    ),
    ActivityRule("Go runtime", ("runtime.",)),
)
"""What a request, or the server, does."""

BACKGROUND = (
    ActivityRule("watch cache: dispatch to watchers", ("cacher.(*Cacher).dispatchEvent",)),
    ActivityRule(
        "watch cache: events of etcd, decoded and stored", ("etcd3.(*watchChan)", "concurrentOrderedEventProcessing")
    ),
    ActivityRule(
        "watch cache: events of etcd, decoded and stored", ("cacher.(*Cacher).startCaching", "cacher.(*watchCache)")
    ),
    ActivityRule(
        "connections to etcd", ("transport.(*http2Client).reader", "transport.(*loopyWriter)", "clientv3.(*watchGrpc")
    ),
    ActivityRule("connections to etcd", ("internal/transport.(*http2Client)", "internal/transport.(*loopyWriter)")),
    ActivityRule(
        "connections to etcd",
        ("internal/transport.NewHTTP2Client", "client/v3.(*watchGRPCStream)", "client/v3.(*lessor)"),
    ),
    ActivityRule("connections to etcd", ("internal/transport.NewServerTransport", "grpcsync.(*CallbackSerializer)")),
    ActivityRule("the server's own informers", ("client-go/tools/cache.", "apimachinery/pkg/watch.(*StreamWatcher)")),
)
"""Goroutines that serve no single request, with or without a label."""

_FOREGROUND = ("handlers.", "ServeHTTP", "registry.(*Store)", "cacher.(*cacheWatcher).process")
_UNLABELLED = (
    ActivityRule("garbage collection", _COLLECTION),
    ActivityRule(
        "connections of clients: HTTP/2 and TLS", ("http2serverConn", "http2.(*serverConn)", "crypto/tls", "net/http")
    ),
    ActivityRule("controllers and caches of the server", ("k8s.io/", "go.etcd.io", "google.golang.org")),
    ActivityRule("Go runtime: scheduler, timers, network poll", ("runtime.",)),
)


def kind(sample: ProfileSample) -> tuple[str, str]:
    """The request (verb and resource) and its client; for what serves no single request, what it is, and no client."""
    behind = OTHER
    if not any(part in name for name in sample.stack for part in _FOREGROUND):
        behind = activity(sample.stack, BACKGROUND)
    if behind != OTHER:
        return f"({behind})", ""
    if "verb" in sample.labels:
        return f"{sample.labels['verb']} {sample.labels['resource']}", sample.labels["client"]
    return f"({activity(sample.stack, _UNLABELLED)})", ""


def does(sample: ProfileSample) -> str:
    """The activity."""
    return activity(sample.stack, ACTIVITIES)
