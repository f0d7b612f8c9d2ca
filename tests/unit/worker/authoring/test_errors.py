"""What cannot be built is a TypeError that says what to write instead."""

import math
import sys
import types
from collections.abc import Callable, Generator
from datetime import date
from functools import partial
from typing import Any

import pytest
from torpor import task
from torpor.authoring import container, expression, group, python, results, text, wait, workflow

from tests.unit.worker.authoring import sample
from tests.unit.worker.authoring.sample import collect, list_files, load, report


def refused(flow: Callable[[Any], object]) -> str:
    """The sentence with which a workflow function with one param cannot be built."""

    @workflow
    def ingest(day: Any = "monday") -> None:
        flow(day)

    with pytest.raises(TypeError) as error:
        ingest()
    return str(error.value)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: -x,
        lambda x: x * 2,
        lambda x: x == "monday",
        lambda x: x != "monday",
        lambda x: x < 3,
        lambda x: x | 3,
        lambda x: "a" in x,
        len,
        int,
        lambda x: x.strip(),
        range,
    ],
)
def test_an_operation_on_a_reference_names_expression(use: Callable[[Any], object]) -> None:
    sentence = refused(use)
    assert sentence.startswith("<reference params.day")
    assert "has no value until the run comes to it" in sentence
    assert sentence.endswith('write expression("... {x} ...", x=...)')


@pytest.mark.parametrize(
    ("use", "advice"),
    [
        (lambda x: 1 if x else 2, 'set the option when="..." of a task instead of `if`'),
        (lambda x: not x, 'set the option when="..." of a task instead of `if`'),
        (lambda x: x and 1, 'set the option when="..." of a task instead of `if`'),
        (list, "call .expand(name=...) for an instance of a task for each item"),
        (lambda x: [each for each in x], "call .expand(name=...) for an instance of a task for each item"),  # noqa: C416
        (lambda x: load(*x), "call .expand(name=...) for an instance of a task for each item"),
        (lambda x: f"in/{x}", 'write text("... {x} ...", x=...) instead of an f-string'),
        ("in/{}".format, 'write text("... {x} ...", x=...) instead of an f-string'),
        (lambda x: "in/%s" % x, 'write text("... {x} ...", x=...) instead of an f-string'),  # noqa: UP031
        (str, 'write text("... {x} ...", x=...) instead of an f-string'),
    ],
)
def test_control_flow_and_text_over_a_reference_name_the_construct_to_use(
    use: Callable[[Any], object], advice: str
) -> None:
    assert refused(use).endswith(advice)


@pytest.mark.parametrize("index", [-1, slice(0, 1), 1.5, None])
def test_an_index_that_cel_does_not_have_is_refused(index: object) -> None:
    assert refused(lambda x: x[index]).endswith("an index is a text, a reference, or a number from 0")


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (load, "load(path: str, minimum: int = 0) -> int: missing a required argument: 'path'"),
        (lambda: load(pth="x"), "load(path: str, minimum: int = 0) -> int: missing a required argument: 'path'"),  # type: ignore[call-arg]
        (lambda: load("x", 1, 2), "load(path: str, minimum: int = 0) -> int: too many positional arguments"),  # type: ignore[call-arg]
        (
            lambda: load("x", size=1),  # type: ignore[call-arg]
            "load(path: str, minimum: int = 0) -> int: got an unexpected keyword argument 'size'",
        ),
        (
            lambda: load.expand(minimum=[1]),
            "load(path: str, minimum: int = 0) -> int: missing a required argument: 'path'",
        ),
        (
            lambda: load.expand(path=[], size=[]),
            "load(path: str, minimum: int = 0) -> int: got an unexpected keyword argument 'size'",
        ),
        (
            lambda: load.partial(path="x").expand(path=[]),
            "load(path: str, minimum: int = 0) -> int: multiple values for argument 'path'",
        ),
        (
            lambda: load.partial(size=1).expand_kwargs([]),
            "load(path: str, minimum: int = 0) -> int: got an unexpected keyword argument 'size'",
        ),
        (
            lambda: list_files.options(trigger={"class": "duration"})("x"),
            "list_files(day: str) -> list[str]: got an unexpected keyword argument 'event'",
        ),
        (
            lambda: collect.options(trigger={"class": "duration"})("x", event={}),
            "collect(path: str, event: object = None) -> str: multiple values for argument 'event'",
        ),
        (
            lambda: sample.by_position("x"),
            "by_position(path: str, /) -> str: a task gets its arguments by name, which 'path' does not allow",
        ),
        (
            lambda: sample.with_more("x", "y"),
            "with_more(path: str, *more: str, **named: str) -> str: a task gets its arguments by name, which 'more'",
        ),
        (wait, "wait(class_name: str"),
        (container, "container(image: str"),
        (lambda: python("legacy.tasks:load")("x"), "load(**args: Any) -> Any: too many positional arguments"),
        (load.expand, "load.expand needs name=list, such as path=files"),
        (lambda: load.options(retry=3), "load has no option 'retry'; it has image, runtime,"),  # type: ignore[call-arg]
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_the_signature(call: Callable[[], Any], sentence: str) -> None:
    def flow(_: object) -> None:
        result = call()
        result("x")  # of options

    assert refused(flow).startswith(sentence)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (
            date(2026, 11, 20),
            "load: argument 'path' is of type date; use JSON: text, numbers, lists, dicts with text keys",
        ),
        ({1: "x"}, "load: argument 'path' is of type dict; use JSON"),
        ([{"a": math.nan}], "load: argument 'path'[0]['a'] is of type float; use JSON"),
        ({"x"}, "load: argument 'path' is of type set; use JSON"),
        (b"x", "load: argument 'path' is of type bytes; use JSON"),
        (report, "load: argument 'path' is <task tests.unit.worker.authoring.sample:report>, which was not called"),
        (len, "load: argument 'path' is <built-in function len>, which was not called; pass what a call returns"),
    ],
)
def test_an_argument_that_is_no_json_is_refused_with_its_place(value: Any, sentence: str) -> None:
    assert refused(lambda _: load(value)).startswith(sentence)


def local(path: str) -> str:
    """Named differently in the module."""
    return path


renamed = task(local)
renamed.function.__qualname__ = "gone"


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (sample.nameless, "<lambda>"),
        (task(lambda path: path), "<lambda> of tests.unit.worker.authoring.test_errors"),
        (sample.Holder.method, "Holder.method"),
        (renamed, "gone of tests.unit.worker.authoring.test_errors"),
        (task(partial(local, "x")), "an object without a name. of functools"),
    ],
)
def test_a_function_that_a_pod_cannot_import_is_no_task(candidate: Any, name: str) -> None:
    def nested(path: str) -> str:
        return path

    assert "cannot be a task: a pod imports a task by its name" in refused(lambda _: task(nested)(path="x"))
    assert refused(lambda _: candidate(path="x")).startswith(name)


def test_a_function_of_main_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    exec("def load(path): return path", vars(main))
    assert refused(lambda _: python(main.load)("x")).startswith("load of __main__ cannot be a task")


def test_a_reference_of_a_group_outside_of_it_names_results() -> None:
    def flow(day: Any) -> None:
        with group("city", city=list_files(day)) as city:
            loaded = load(city.value)
        report([loaded])

    sentence = refused(flow)
    assert sentence.startswith("load belongs to group city, and this place is outside of the group; write results(x)")


@pytest.mark.parametrize("use", [load, lambda x: load.expand(path=x), lambda x: text("{x}", x=x)])
def test_the_item_of_a_group_outside_of_it_is_refused(use: Callable[[Any], object]) -> None:
    def flow(day: Any) -> None:
        with group("city", city=list_files(day)) as city:
            load(city.value)
        use(city.value)

    assert refused(flow).startswith("city belongs to group city")


@pytest.mark.parametrize(
    ("use", "sentence"),
    [
        (lambda x: load.after("list")("x"), "'list' is no reference that the call of a task or a group returned"),
        (lambda x: load.after(x)("x"), "<reference params.day> is no reference that the call of a task"),
        (lambda x: load.after(load)("x"), "<task tests.unit.worker.authoring.sample:load> is no reference"),
        (lambda x: results(3), "3 is no reference"),
        (lambda x: text("{y}", x=x), "text('{y}') does not contain {x}; write text('... {x} ...', x=...)"),
        (lambda x: text("{x} {y}", x=x), "text('{x} {y}') has no value for {y}; write text('... {x} ...', x=...)"),
        (lambda x: expression("{y}"), "expression('{y}') has no value for {y}"),
        (lambda x: expression("{x}", x=date.min), "a constant is of type date; use JSON"),
        (lambda x: group("city").__enter__(), "group('city') needs name=list"),
    ],
)
def test_what_is_no_reference_or_has_no_value_is_refused(use: Callable[[Any], object], sentence: str) -> None:
    assert refused(use).startswith(sentence)


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: wait("duration", duration="5s"), "wait(...)"),
        (lambda: container("busybox"), "container(...)"),
        (lambda: load.expand(path=[]), "load"),
        (lambda: group("city", city=[]).__enter__(), "group('city')"),
        (python("legacy.tasks:load"), "legacy.tasks:load"),
        (lambda: text("x"), "text(...)"),
    ],
)
def test_what_only_a_workflow_has_is_refused_outside_of_one(call: Callable[[], object], place: str) -> None:
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value).startswith(f"{place}")
    assert str(error.value).endswith("is possible only in a @workflow function")


def test_a_workflow_in_a_workflow_is_refused_and_the_next_one_is_built() -> None:
    @workflow
    def inner() -> None:
        load("x")

    assert refused(lambda _: inner()).startswith("a @workflow function cannot call another one")
    assert inner()["spec"]["tasks"][0]["name"] == "load"


def test_a_workflow_function_is_plain() -> None:
    async def later() -> None:
        load("x")

    def often() -> Generator[int]:
        yield load("x")

    for function in (later, often):
        with pytest.raises(TypeError, match="a workflow function has no async and no yield"):
            workflow(function)()


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda *days: None, "param 'days' must be a plain argument, without *, ** and /"),
        (lambda **days: None, "param 'days' must be a plain argument"),
        (lambda day, /: None, "param 'day' must be a plain argument"),
        (lambda day=date.min: None, "day is of type date; use JSON"),
    ],
)
def test_a_param_that_a_workflow_cannot_have_is_refused(function: Callable[..., None], sentence: str) -> None:
    with pytest.raises(TypeError) as error:
        workflow(function).build({})
    assert sentence in str(error.value)


def test_a_param_without_a_value_and_an_unknown_option_are_refused() -> None:
    @workflow
    def ingest(day: str) -> None:
        load(day)

    with pytest.raises(TypeError, match=r"ingest\(day: str\) -> None: missing a required argument: 'day'"):
        ingest()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="@workflow of ingest has no option 'img'; it has image,"):
        workflow(img="x")(ingest.function)  # type: ignore[call-overload]
