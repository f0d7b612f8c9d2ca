"""Whatever a workflow function builds passes the checks of `torpor lint`."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from torpor.authoring import container, expression, group, python, results, text, wait, workflow

from tests.unit.cli.linting.findings import lint

NAMES = st.sampled_from(["load", "loop", "null", "_in", "Ärger", "a" * 60, "x_2", "x"])
KINDS = ["task", "mapped", "objects", "wait", "container", "conditional"]
KEYS = st.sampled_from(["name", "in", "a b", 'a"b', "ä", "x_1"])
PARTS = st.lists(KEYS | st.integers(0, 5), max_size=3)
STEPS = st.lists(
    st.tuples(st.sampled_from(KINDS), NAMES, st.integers(0, 9), st.integers(0, 9), PARTS), min_size=1, max_size=4
)
GROUPS = st.lists(STEPS, max_size=2)


class Author:
    """Writes tasks that read earlier ones. `inner` are the references that only the open group reads."""

    def __init__(self, day: Any) -> None:
        self.known: list[Any] = [day]
        self.inner: list[Any] = []
        self.tasks: list[Any] = []

    def read(self, number: int, parts: Sequence[str | int]) -> Any:
        """A reference to something known, or to a part of it."""
        known = [*self.known, *self.inner]
        value = known[number % len(known)]
        for part in parts:
            value = value[part]
        return value

    def add(self, kind: str, name: str, first_task: int, second_task: int, parts: Sequence[str | int]) -> Any:
        """A task of a kind."""
        first, second = self.read(first_task, parts), self.read(second_task, ())
        step: Any = python(f"pkg.tasks:{name.replace('Ä', 'A')}")
        if self.tasks:
            step = step.after(self.tasks[first_task % len(self.tasks)])
        match kind:
            case "mapped":
                return step.partial(x=first).expand(path=second, other=[1, 2])
            case "objects":
                return step.expand_kwargs(expression("{a} == {b} ? [{a}] : []", a=first, b=second))
            case "wait":
                return wait("http", url=text("https://example.org/{x}", x=first), headers={"x": second}, timeout="6h")
            case "container":
                return container("busybox:1", command=["echo", text("{a}", a=first)], x=[second, {"y": first}])
            case "conditional":
                condition = expression("({a}) != {b} && size({c}) > 0", a=first, b=second, c=[first, "x"])
                return step.options(when=condition, rule="none_failed", retries=2, display_name=text("{x}", x=first))(
                    y=1
                )
            case _:
                return step(x=first, y={"z": [second, 1.5, None]})


@settings(deadline=None, max_examples=25)
@given(STEPS, GROUPS)
def test_a_random_workflow_is_valid(first: list[Any], groups: list[list[Any]]) -> None:
    @workflow(image="x:1")
    def flow(day: Any = "monday") -> None:
        author = Author(day)
        for kind, *rest in first:
            author.tasks.append(author.add(kind, *rest))
            author.known.append(author.tasks[-1])
        for number, steps in enumerate(groups):
            with group(f"group_{number}", item=author.read(steps[0][2], ()), other=["x"]) as item:
                author.inner = [item.value, item.index, item.key.item]
                before = len(author.tasks)
                for kind, *rest in steps:
                    author.tasks.append(author.add(kind, *rest))
                    author.inner.append(author.tasks[-1])
            author.known += map(results, author.tasks[before:])
            author.inner = []
        python("pkg.tasks:report").options(rule="all_done")(rows=author.known[1:])

    assert [(problem.path, problem.message) for problem in lint(flow())] == []
