"""Random workflows with mapped groups, nested up to two levels, over lists of all kinds, and tasks that reduce them.

A task in a group returns its group indexes; the tasks that receive the result check them: `actors.tasks`.
"""

import random
from collections.abc import Callable
from typing import Any

from torpor_local.apiserver.history import Object
from torpor_wire.enums import TriggerRule

OUTER, INNER = "outer", "inner"
Draw = Callable[[random.Random, list[str]], Object]
"""A kind of task."""

RULES = tuple(rule.value for rule in TriggerRule if rule is not TriggerRule.ALL_DONE_MIN_ONE_SUCCESS)
"""Without that which `workflows` draws apart."""
_PYTHON = "tests.simulation.actors.tasks:perform"
_WIDE: Object = {"python": _PYTHON, "args": {"script": [["wide"]]}}
_LITERAL: tuple[Any, ...] = ([1, 2], [1, 2], [1, 2, 3], {"a": [5], "b": []}, [[5, 6], []], [[5], [6, 7]], [])
_WORKS = ("ok", "ok", "work:2", "defer:2", "poll:1", "share:4", "many:3")
_WHENS = ("groups.outer.index != 1", "groups.outer.index == 1", "groups.outer.index < 1")
_AT = {OUTER: ["${groups.outer.index}"], INNER: ["${groups.outer.index}", "${groups.inner.index}"], None: []}


def arrange(rng: random.Random, spec: Object, python: Draw, others: tuple[Draw, ...]) -> None:
    """Groups, and tasks in and around them, in place of the tasks of a spec."""
    spec["groups"], spec["tasks"] = [], []
    _Drawn(rng, spec, python, others).all()


class _Drawn:
    def __init__(self, rng: random.Random, spec: Object, python: Draw, others: tuple[Draw, ...]) -> None:
        self._rng = rng
        self._spec = spec
        self._python = python
        self._others = others

    def all(self) -> None:
        """The lists, the groups with their tasks, and who comes after them."""
        self._outer()
        first = self._task(OUTER)
        self._task(OUTER, before=first)
        if nested := self._rng.random() < 0.45:
            self._inner()
            self._task(INNER, before=first)
        if self._rng.random() < 0.4:
            self._task(INNER if nested else OUTER, mapped=True, before=self._rng.choice((first, None)))
        if self._rng.random() < 0.15:
            self._branch()
        if nested and self._rng.random() < 0.6:
            self._task(OUTER, before=self._of(INNER))
        self._report()

    def _outer(self) -> None:
        match self._rng.choice(("literal", "literal", "result", "results")):
            case "result":
                over: Any = f"${{tasks.{self._add(_WIDE | self._retries())}.result}}"
            case "results":
                many = self._python(self._rng, []) | {"expand": [{"name": "item", "over": [1, 2]}]}
                over = f"${{tasks.{self._add(many)}.results}}"
            case _:
                over = self._rng.choice(_LITERAL)
        entries: list[Object] = [{"name": "o", "over": over}]
        if self._rng.random() < 0.1:
            entries.append({"name": "p", "over": ["x"]})
        self._spec["groups"].append({"name": OUTER, "expand": entries})

    def _inner(self) -> None:
        match self._rng.choice(("literal", "result", "value")):
            case "result":
                over: Any = f"${{tasks.{self._add(_WIDE | self._retries() | {'group': OUTER})}.result}}"
            case "value" if self._lists():
                over = "${groups.outer.value}"
            case _:
                over = self._rng.choice(([1, 2], [1, 2], [1], []))
        self._spec["groups"].append({"name": INNER, "in": OUTER, "expand": [{"name": "i", "over": over}]})

    def _lists(self) -> bool:
        """Whether all items of the outer group are lists."""
        entries = self._spec["groups"][0]["expand"]
        over = entries[0]["over"]
        items = over.values() if isinstance(over, dict) else over
        return len(entries) == 1 and not isinstance(over, str) and all(isinstance(item, list) for item in items)

    def _task(self, group: str, *, before: str | None = None, mapped: bool = False) -> str:
        task = self._kind(group, before) if not mapped else self._single(group, before)
        task |= {"group": group} | self._retries()
        if mapped:
            task["expand"] = [{"name": "item", "over": self._rng.choice(([1, 2], [1, 2], [1, 2], []))}]
            task["args"]["at"] = [*_AT[group], "${mapping.index}"]
        if before is not None and self._rng.random() < 0.35:
            task["rule"] = self._rng.choice(RULES)
        if self._rng.random() < 0.12:
            task["when"] = self._rng.choice(_WHENS)
        if self._rng.random() < 0.1:
            task["maxActive"] = self._rng.choice((1, 2))
        return self._add(task)

    def _kind(self, group: str, before: str | None) -> Object:
        if self._rng.random() < 0.7:
            return self._single(group, before)
        task = self._rng.choice(self._others)(self._rng, [])
        return task | ({"after": [before]} if before is not None else {})

    def _single(self, group: str | None, before: str | None) -> Object:
        """A function that receives its group indexes and, if possible, the results of an earlier task."""
        task = self._python(self._rng, [])
        task.pop("expand", None)
        if self._rng.random() < 0.6:  # or little would ever be reached
            task["args"]["script"] = [[self._rng.choice(_WORKS), "ok"]]
        task["args"]["at"] = _AT[group]
        if before is None:
            return task
        if "at" in self._named(before).get("args", {}) and self._rng.random() < 0.7:
            shared = min(len(_AT[group]), len(_AT[self._named(before).get("group")]))
            task["args"] |= {"rows": f"${{tasks.{before}.{self._field(group, before)}}}", "shared": shared}
        else:
            task["after"] = [before]
        return task

    def _field(self, group: str | None, before: str) -> str:
        other = self._named(before)
        many = "expand" in other or len(_AT[other.get("group")]) > len(_AT[group])
        return "results" if many else "result"

    def _branch(self) -> None:
        """Which of two tasks runs, by the index."""
        names = [f"t{len(self._spec['tasks']) + later}" for later in (1, 2)]
        args = {"script": [["pick"]], "at": _AT[OUTER], "names": names}
        picks = self._add({"python": _PYTHON, "args": args, "branch": True, "group": OUTER} | self._retries())
        for _ in names:
            self._add(self._single(OUTER, None) | {"group": OUTER, "after": [picks]})

    def _report(self) -> None:
        """A task outside: it awaits all indexes, by a task or by the group's name."""
        task = self._single(
            None, self._rng.choice([other["name"] for other in self._spec["tasks"] if "group" in other])
        )
        if self._rng.random() < 0.4:
            task["after"] = [self._rng.choice([group["name"] for group in self._spec["groups"]])]
        if self._rng.random() < 0.5:
            task["rule"] = self._rng.choice(("all_done", "none_failed", *RULES))
        self._add(task)

    def _retries(self) -> Object:
        return {"retries": {"limit": 2, "delay": "1s", "backoff": 2}} if self._rng.random() < 0.7 else {}

    def _of(self, group: str) -> str:
        return self._rng.choice([str(task["name"]) for task in self._spec["tasks"] if task.get("group") == group])

    def _named(self, name: str) -> Object:
        return next(task for task in self._spec["tasks"] if task["name"] == name)

    def _add(self, task: Object) -> str:
        name = f"t{len(self._spec['tasks'])}"
        self._spec["tasks"].append({"name": name} | task)
        return name
