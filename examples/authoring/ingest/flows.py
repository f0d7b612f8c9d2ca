"""The workflow: `torpor compile ingest.flows:sales` prints it as YAML."""

from torpor.authoring import container, expression, group, results, text, wait, workflow

from ingest.tasks import add, list_files, list_regions, load, raise_alarm, report


@workflow(image="registry.example.org/team/ingest:1.4", timeout="2h")
def sales(day: str = "2026-11-20", minimum: int = 10) -> None:
    """Load the sales of a day, region by region."""
    closed = wait.options(name="closed")("duration", duration="5s")
    regions = list_regions.after(closed)(day)
    with group("region", region=regions) as region:
        files = list_files(day, region.value)
        shops = expression("{files}.filter(f, f.endsWith('.csv'))", files=files)
        rows = load.options(retries=3, max_active=10).partial(minimum=minimum).expand(path=shops)
        total = add.options(rule="none_failed")(rows)
    summary = report(day, results(total))
    publish = container.options(name="publish", when=expression("{rows} > 0", rows=summary["rows"]))
    publish("busybox:1.37", command=["echo", text("{day}: {rows} rows", day=day, rows=summary["rows"])])
    raise_alarm.options(hook="failure")(text("the sales of {day} are missing", day=day))
