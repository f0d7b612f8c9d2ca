"""Images with expressions: what may choose an image, and what is one."""

import pytest
from torpor_operator.expressions import images
from torpor_operator.model.pod import pod_name

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture

DIGEST = "sha256:" + "0" * 64


def image(world: PlanFixture, task: str = "a", index: int = -1) -> str:
    found: str = world.pods[pod_name(world.run(task, index))]["spec"]["containers"][0]["image"]
    return found


@pytest.mark.parametrize("task", [python("a"), container("a")])
def test_params_choose_an_image(task: Body) -> None:
    params = {"repository": "registry.example.org:5000/team/app", "tag": 1.4}
    world = PlanFixture(task | {"image": "${params.repository}:${params.tag}"}, params=params).settle()
    assert image(world) == "registry.example.org:5000/team/app:1.4"
    assert world.run("a").spec.image == "registry.example.org:5000/team/app:1.4"


def test_the_image_of_all_tasks_may_have_an_expression() -> None:
    world = PlanFixture(python("a"), container("b"), image="app:${params.tag}", params={"tag": "v2"}).settle()
    assert (image(world), image(world, "b")) == ("app:v2", "app:v2")


def test_items_that_the_workflow_contains_choose_an_image() -> None:
    over = [{"image": "debian", "tag": 13}, {"image": "alpine", "tag": "3.22"}]
    task = container("a", image="${mapping.value.image}:${mapping.value.tag}", expand=[{"name": "i", "over": over}])
    world = PlanFixture(task).settle()
    assert [image(world, index=index) for index in (0, 1)] == ["debian:13", "alpine:3.22"]


@pytest.mark.parametrize(
    ("template", "result", "becomes"),
    [
        ("registry.example.org:5000/app:${tasks.build.result}", '"v1.4"', "registry.example.org:5000/app:v1.4"),
        ("app:v${tasks.build.result}-slim", "7", "app:v7-slim"),
        ("app@${tasks.build.result}", f'"{DIGEST}"', f"app@{DIGEST}"),
        ("app@sha256:${tasks.build.result}", f'"{"a" * 64}"', f"app@sha256:{'a' * 64}"),
        ("${params.repository}:${tasks.build.result}", '"v1"', "team/app:v1"),
    ],
)
def test_a_result_chooses_the_tag_of_a_repository(template: str, result: str, becomes: str) -> None:
    world = PlanFixture(python("build"), container("a", image=template), params={"repository": "team/app"}).settle()
    assert image(world.succeed("build", result)) == becomes


@pytest.mark.attack
@pytest.mark.parametrize(
    "template",
    [
        "${tasks.build.result}",
        "app${tasks.build.result}",
        "registry.example.org/${tasks.build.result}",
        "registry.example.org:${tasks.build.result}/app",
        "registry:5000/${tasks.build.result}:v1",
        ":${tasks.build.result}",
        "a/:${tasks.build.result}",
        "app:${tasks.build.result}/${params.repository}",
        "${run.event.image}",
        "app-${variables.x}-${tasks.build.result}",
    ],
)
def test_a_result_chooses_no_repository(template: str) -> None:
    task = container("a", image=template)
    world = PlanFixture(python("build"), task, params={"repository": "a"}, variablesFrom="v").settle()
    assert world.status.state == "Failed"
    assert "image: " in world.condition()[2]
    assert "only params, variables, and lists that the Workflow contains may choose it" in world.condition()[2]


@pytest.mark.attack
@pytest.mark.parametrize(
    "over",
    [
        "${tasks.build.result}",
        ["${tasks.build.result}"],
        {"k": "${run.event.image}"},
        "${params.l + tasks.build.result}",
    ],
)
def test_items_that_come_from_data_choose_no_image(over: object) -> None:
    task = container("a", image="${mapping.value}", expand=[{"name": "i", "over": over}])
    world = PlanFixture(python("build"), task, params={"l": []}).settle()
    assert "may choose it" in world.condition()[2]


@pytest.mark.attack
@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("app:${tasks.build.result}", '"5000/evil/image"'),
        ("app:${tasks.build.result}", '"v1@sha256:0"'),
        ("app:${tasks.build.result}", '"v1\\n"'),
        ("app:${tasks.build.result}", '""'),
        ("app:${tasks.build.result}", '["v1"]'),
        ("app:${tasks.build.result}", "null"),
        ("app:${tasks.build.result}", "true"),
        ("app@${tasks.build.result}", '"v1"'),
        ("app@${tasks.build.result}", '"sha512:0"'),
        ("app:${tasks.build.result}", f'"{"v" * 129}"'),
    ],
)
def test_a_value_that_is_no_tag_fails_the_task(template: str, result: str) -> None:
    world = PlanFixture(python("build"), container("a", image=template)).settle().succeed("build", result)
    assert world.status.state == "Failed"
    assert "image: " in world.condition()[2]


@pytest.mark.attack
@pytest.mark.parametrize("value", ["--privileged", "a b", "a\nb", "x" * 513, "", "a@b@c", "$(HOME)"])
def test_a_param_that_is_no_image_fails_the_task(value: object) -> None:
    world = PlanFixture(container("a", image="${params.image}"), params={"image": value}).settle()
    assert world.status.state == "Failed"
    assert "is not an image: write [registry/]name[:tag][@digest]" in world.condition()[2]


@pytest.mark.parametrize("value", [{"a": 1}, [], None, True])
def test_a_part_of_an_image_is_a_text_or_a_number(value: object) -> None:
    world = PlanFixture(container("a", image="app:${params.v}"), params={"v": value}).settle()
    assert "a part of an image must be a text or a number" in world.condition()[2]


def test_an_image_of_a_trigger_is_not_evaluated() -> None:
    assert [*images.expressions("app:v1")] == []


@pytest.mark.parametrize(
    ("over", "of_author"),
    [
        (["a:1"], True),
        ("${params.l}", True),
        ("${params.l.filter(i, i != params.x)}", True),
        ("${tasks.build.result}", False),
        ("${[1].map(x, .tasks.build.result)}", False),
        ("${params.l + ['tasks']}", False),  # a text is taken for a name, because nothing is parsed
    ],
)
def test_items_of_a_group_are_the_authors_if_its_lists_are(over: object, of_author: bool) -> None:
    groups = [{"name": "g", "expand": [{"name": "i", "over": over}]}]
    task = container("a", group="g", image="${groups.g.value}")
    params = {"l": ["a:1", "b:2"], "x": ""}
    world = PlanFixture(python("build"), task, params=params, groups=groups).settle()
    assert ("may choose it" not in world.condition()[2]) == of_author
