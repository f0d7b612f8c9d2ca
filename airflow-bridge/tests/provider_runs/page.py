"""The page with the providers, their classes, and which of them were run. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from provider_runs.row import PREFIX, RowOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderClass:
    """An installed class: a trigger, or an operator that can defer.

    `support` and `detail` are those of `torpor-airflow triggers`; of an operator, they are empty. `unrun`: why no row
    runs it.
    """

    path: str
    provider: str
    is_trigger: bool
    support: str = ""
    detail: str = ""
    unrun: str = ""


def page(classes: Sequence[ProviderClass], outcomes: Sequence[RowOutcome], versions: Mapping[str, str]) -> str:
    """Return the page. `versions` are those of the providers, such as `microsoft-azure`."""
    run = run_classes(outcomes)
    triggers = [each for each in classes if each.is_trigger]
    operators = [each for each in classes if not each.is_trigger]
    providers = sorted({each.provider for each in classes})
    return "\n".join(
        [
            "# Providers of Airflow",
            "",
            f"`make airflow-real` runs {_count(operators, run)} of {len(operators)} deferrable operators, and",
            f"{_count(triggers, run)} of {len(triggers)} trigger classes, of {len(providers)} providers of Airflow.",
            "An operator runs in a pod, waits in a triggerer, and resumes in a further pod. A trigger class runs in a",
            "triggerer. The services are moto, real servers, and servers on loopback that answer as the service does.",
            "The classes are unmodified. [Use Airflow's providers](../how-to/use-airflow-providers.md) explains how.",
            "",
            "| Provider | Version | Operators run | Operators | Triggers run | Triggers | As is | Connected | Cannot |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
            *(_summary(name, classes, run, versions) for name in providers),
            *(line for name in providers for line in _section(name, classes, run)),
            "",
        ]
    )


def run_classes(outcomes: Sequence[RowOutcome]) -> Mapping[str, str]:
    """Return the class paths that a right row ran, each with how: by itself, or as the wait of an operator."""
    run: dict[str, str] = {}
    for each in outcomes:
        if each.is_right:
            run |= {path: f"by {each.class_path.rpartition('.')[2]}" for path in each.triggers if path not in run}
    return run | {each.class_path: "yes" for each in outcomes if each.is_right}


def _count(classes: Sequence[ProviderClass], run: Mapping[str, str]) -> int:
    return sum(each.path in run for each in classes)


def _summary(
    provider: str, classes: Sequence[ProviderClass], run: Mapping[str, str], versions: Mapping[str, str]
) -> str:
    own = [each for each in classes if each.provider == provider]
    triggers, operators = [each for each in own if each.is_trigger], [each for each in own if not each.is_trigger]
    support = [sum(each.support == name for each in triggers) for name in ("as is", "needs a connection", "cannot")]
    cells = [
        provider,
        versions.get(provider.replace(".", "-"), ""),
        _count(operators, run),
        len(operators),
        _count(triggers, run),
        len(triggers),
        *support,
    ]
    return f"| {' | '.join(map(str, cells))} |"


def _section(provider: str, classes: Sequence[ProviderClass], run: Mapping[str, str]) -> Iterator[str]:
    own = [each for each in classes if each.provider == provider]
    yield from ("", f"## {provider}", "")
    operators = sorted((each for each in own if not each.is_trigger), key=lambda each: each.path)
    if operators:
        yield from ("| Operator | Run |", "| --- | --- |")
        yield from (f"| `{_short(each)}` | {_run(each, run)} |" for each in operators)
    triggers = sorted((each for each in own if each.is_trigger), key=lambda each: each.path)
    if operators and triggers:
        yield ""
    if triggers:
        yield from ("| Trigger | Support | Run |", "| --- | --- | --- |")
        yield from (f"| `{_short(each)}` | {_support(each)} | {_run(each, run)} |" for each in triggers)


def _short(each: ProviderClass) -> str:
    return each.path.removeprefix(PREFIX).removeprefix(f"{each.provider}.")


def _support(each: ProviderClass) -> str:
    return _cell(each.support + (f": {each.detail}" if each.detail else ""))


def _run(each: ProviderClass, run: Mapping[str, str]) -> str:
    return run.get(each.path) or _cell(f"no: {each.unrun}" if each.unrun else "no")


def _cell(text: str) -> str:
    """Return a text for a cell: one line, without markup."""
    return " ".join(text.split()).replace("|", "/").replace("<", "(").replace(">", ")")[:200]
