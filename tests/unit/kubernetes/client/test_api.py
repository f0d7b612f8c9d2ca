"""The verbs: what is repeated, what is not, and which error is which."""

import pytest
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, TASKRUNS, Resource
from torpor_kubernetes.client.transport import Response
from torpor_wire import transitions
from torpor_wire.state import State

from tests.support.fake_api import FakeApi, Fault, VirtualClock, settle

BODY = {"metadata": {"name": "a"}, "spec": {"triggerPool": "default"}}


class NoWaiting(VirtualClock):
    """Notes how long was to be slept, and does not."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.slept.append(seconds)
        await super().sleep(0)


@pytest.fixture
def clock() -> NoWaiting:
    return NoWaiting()


@pytest.fixture
def fake(clock: NoWaiting) -> FakeApi:
    return FakeApi(clock)


@pytest.fixture
def api(fake: FakeApi, clock: NoWaiting) -> Api:
    return Api(fake, clock, jitter=lambda: 0.5)


async def test_a_new_taskrun_is_scheduled_whatever_status_was_sent(api: Api) -> None:
    created = await api.create(TASKRUNS, "ns", BODY | {"status": {"state": "Succeeded"}})
    assert created["status"] == {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []}


async def test_creating_it_twice_already_exists(api: Api) -> None:
    await api.create(TASKRUNS, "ns", BODY)
    with pytest.raises(errors.AlreadyExists):
        await api.create(TASKRUNS, "ns", BODY)


async def test_of_two_who_claim_one_wins_and_the_other_lost_a_race(api: Api) -> None:
    stored = await api.create(TASKRUNS, "ns", BODY)
    created = stored["metadata"]["creationTimestamp"]
    pin = transitions.Pin(stored["metadata"]["uid"], created, State.SCHEDULED, 1, 0)
    first, second = (
        transitions.claim(pin, transitions.Claim("pod", "uid", nonce), started=None, now=api.clock.now())
        for nonce in ("1", "2")
    )
    won = await api.patch(TASKRUNS, "ns", "a", first, subresource="status")
    with pytest.raises(errors.LostRace):
        await api.patch(TASKRUNS, "ns", "a", second, subresource="status")
    assert won["status"]["pod"]["claim"] == "1"
    assert await api.get(TASKRUNS, "ns", "a") == won


async def test_a_patch_that_fails_in_the_middle_changes_nothing(api: Api) -> None:
    created = await api.create(TASKRUNS, "ns", BODY)
    ops: list[dict[str, object]] = [
        {"op": "replace", "path": "/status/state", "value": "Running"},
        {"op": "test", "path": "/status/attempt", "value": 2},
    ]
    with pytest.raises(errors.LostRace):
        await api.patch(TASKRUNS, "ns", "a", ops, subresource="status")
    assert await api.get(TASKRUNS, "ns", "a") == created


async def test_a_replace_of_an_older_version_conflicts(api: Api) -> None:
    created = await api.create(TASKRUNS, "ns", BODY)
    changed = created | {"spec": {"triggerPool": "other"}}
    await api.replace(TASKRUNS, "ns", "a", changed)
    with pytest.raises(errors.Conflict):
        await api.replace(TASKRUNS, "ns", "a", changed)


async def test_deleting_what_is_gone_succeeds_and_spares_a_namesake(api: Api) -> None:
    await api.delete(TASKRUNS, "ns", "a")
    await api.create(TASKRUNS, "ns", BODY)
    with pytest.raises(errors.Conflict):
        await api.delete(TASKRUNS, "ns", "a", uid="another")
    await api.delete(TASKRUNS, "ns", "a")
    with pytest.raises(errors.NotFound):
        await api.get(TASKRUNS, "ns", "a")


async def test_a_read_is_repeated_while_the_server_is_unavailable_but_not_for_ever(
    api: Api, fake: FakeApi, clock: NoWaiting
) -> None:
    fake.put(TASKRUNS, BODY | {"metadata": {"name": "a", "namespace": "ns"}})
    fake.inject(Fault(method="GET", status=429, retry_after=3))
    fake.inject(Fault(method="GET", times=2))
    await api.get(TASKRUNS, "ns", "a")
    assert clock.slept == pytest.approx([3, 0.4, 0.8])
    fake.inject(Fault(method="GET", status=500, times=9))
    with pytest.raises(errors.ApiUnavailable):
        await api.get(TASKRUNS, "ns", "a")
    assert len(fake.requests) == 4 + 4


@pytest.mark.parametrize("commit", [True, False])
async def test_a_write_without_an_answer_is_never_repeated(api: Api, fake: FakeApi, *, commit: bool) -> None:
    fake.inject(Fault(method="POST", commit=commit))
    with pytest.raises(errors.Unreachable):
        await api.create(TASKRUNS, "ns", BODY)
    assert len(fake.writes()) == 1
    assert (fake.get(TASKRUNS, "ns", "a") is not None) is commit


async def test_a_list_is_whole_even_where_its_pages_expire(api: Api, fake: FakeApi) -> None:
    for number in range(7):
        fake.put(PODS, {"metadata": {"name": f"p{number}", "namespace": "ns"}})
    fake.inject(Fault(method="GET", status=410))
    assert len((await api.list(PODS, limit=3)).items) == 7
    pages = api.pages(PODS, limit=3)
    await anext(pages)
    fake.compact()
    with pytest.raises(errors.Gone):
        await anext(pages)
    listed = await api.list(PODS, "ns", field_selector="metadata.name=p3")
    assert [item["metadata"]["name"] for item in listed.items] == ["p3"]
    assert listed.resource_version == str(fake.history.version)


async def test_a_watch_from_before_a_compaction_is_gone(api: Api, fake: FakeApi) -> None:
    fake.put(PODS, {"metadata": {"name": "p", "namespace": "ns"}})
    fake.compact()
    with pytest.raises(errors.Gone):
        await anext(api.watch(PODS, resource_version="98"))


async def test_an_unselectable_field_is_said_to_be_one(api: Api) -> None:
    with pytest.raises(errors.ApiError, match=r"spec\.nonsense"):
        await api.list(TASKRUNS, field_selector="spec.nonsense=1")


async def test_a_kind_is_resolved_by_its_name_and_requested_once(api: Api, fake: FakeApi) -> None:
    widgets = Resource(group="example.org", version="v1", plural="widgets", kind="Widget", namespaced=False)
    fake.serve(widgets)
    assert await api.discover("example.org/v1", "Widget") == widgets
    assert await api.discover("v1", "Pod") == PODS
    await api.discover("v1", "Pod")
    assert len(fake.requests) == 2
    with pytest.raises(errors.NotFound, match="no kind 'Gadget'; it has Widget"):
        await api.discover("example.org/v1", "Gadget")


@pytest.mark.parametrize("api_version", ["nosuch.org/v1", "v2", "", "a/b/c", "../../api/v1", "x/", "v1?x=y"])
async def test_an_unknown_api_version_is_named(api: Api, api_version: str) -> None:
    with pytest.raises(errors.NotFound, match="is its CRD installed"):
        await api.discover(api_version, "Widget")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "a%2fb", "a?b", "a#b", "a b", "ä", "a\n", "a\\b"])
def test_a_name_cannot_lead_to_another_path(name: str) -> None:
    for path in ((name, "x"), ("ns", name), ("ns", "x", name)):
        if path != ("", "x"):
            with pytest.raises(ValueError, match="is not a name"):
                PODS.path(*path)
    with pytest.raises(ValueError, match="needs a namespace"):
        PODS.path(None, "x")


@pytest.mark.parametrize(
    ("status", "reason", "causes", "expected"),
    [
        (401, "Unauthorized", [], errors.Forbidden),
        (403, "Forbidden", [{"reason": "x"}], errors.Forbidden),
        (404, "NotFound", [], errors.NotFound),
        (409, "AlreadyExists", [], errors.AlreadyExists),
        (409, "Conflict", [], errors.Conflict),
        (410, "Expired", [], errors.Gone),
        (422, "Invalid", [], errors.LostRace),
        (422, "Invalid", [{"reason": "FieldValueInvalid"}], errors.Refused),
        (429, "TooManyRequests", [], errors.ApiUnavailable),
        (500, "InternalError", [], errors.ApiUnavailable),
        (504, "Timeout", [], errors.ApiUnavailable),
        (400, "BadRequest", [], errors.ApiError),
    ],
)
def test_every_status_code_is_the_error_that_it_means(
    status: int, reason: str, causes: list[dict[str, str]], expected: type[errors.ApiError]
) -> None:
    body = {"kind": "Status", "reason": reason, "message": "why", "details": {"causes": causes}, "code": status}
    for error in (errors.from_response(Response(status, body)), errors.from_status(body)):
        assert type(error) is expected
        assert (error.status, error.reason, str(error)) == (status, reason, "why")


def test_an_answer_that_is_no_status_object_still_says_something() -> None:
    assert str(errors.from_response(Response(502, "bad gateway"))) == "bad gateway"
    assert str(errors.from_response(Response(503, None))) == "the API server answered 503"
    assert errors.from_response(Response(429, {"details": {"retryAfterSeconds": 2}})).retry_after == 2


async def test_what_an_owner_leaves_behind_is_collected(fake: FakeApi, api: Api) -> None:
    owner = await api.create(TASKRUNS, "ns", BODY)
    reference = {"uid": owner["metadata"]["uid"], "name": "a", "kind": "TaskRun", "apiVersion": "torpor.dev/v1alpha1"}
    await api.create(PODS, "ns", {"metadata": {"name": "p", "ownerReferences": [reference], "finalizers": ["x/y"]}})
    await api.delete(TASKRUNS, "ns", "a")
    await settle()
    pod = fake.get(PODS, "ns", "p")
    assert pod is not None
    assert "deletionTimestamp" in pod["metadata"]
    await api.patch(PODS, "ns", "p", [{"op": "remove", "path": "/metadata/finalizers"}])
    assert fake.get(PODS, "ns", "p") is None
