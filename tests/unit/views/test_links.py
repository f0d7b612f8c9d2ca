"""Links that a task reports in its result."""

from typing import Any

import pytest
from torpor_views import links
from torpor_views.links import ResultLink


def reported(*urls: Any) -> dict[str, Any]:
    return {"rows": 3, "__links__": [{"name": "Job", "url": url} for url in urls]}


def test_the_links_of_a_result_keep_their_order_and_are_unique() -> None:
    result = reported("https://jobs.example.org:8443/1?x=1#log", "http://jobs/2", "http://jobs/2")
    assert links.of_result(result) == (
        ResultLink(name="Job", url="https://jobs.example.org:8443/1?x=1#log"),
        ResultLink(name="Job", url="http://jobs/2"),
    )


def test_a_link_without_a_name_has_its_address() -> None:
    assert links.of_result({"__links__": [{"url": "http://jobs/1"}]}) == (
        ResultLink(name="http://jobs/1", url="http://jobs/1"),
    )


@pytest.mark.parametrize("result", [None, 3, "text", [], {}, {"__links__": 3}, {"__links__": [1, None, []]}])
def test_a_result_without_links_has_none(result: Any) -> None:
    assert links.of_result(result) == ()


@pytest.mark.attack
@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>", "file:///etc/passwd", "//jobs/1"),
        *(
            "http:jobs",
            "http://",
            "https:///x",
            "http://ann:secret@jobs/",
            "http://jobs@evil.example.org/",
            "ftp://jobs/1",
        ),
        *("http://jobs/\u202egnp.exe", "http://jo bs/", "http://jobs/\n", "http://jobs\\@evil/", "http://jobs:port/"),
        *(" http://jobs/", "http://[jobs/", f"http://jobs/{'x' * 2_000}", 3, None, ["http://jobs/"]),
    ],
)
def test_a_link_that_is_no_web_page_is_left_out(url: Any) -> None:
    assert links.of_result(reported(url)) == ()


@pytest.mark.attack
def test_a_task_reports_a_bounded_number_of_links() -> None:
    assert len(links.of_result(reported(*(f"http://jobs/{number}" for number in range(1_000))))) == links.COUNT_MAX


@pytest.mark.attack
def test_the_name_of_a_link_is_one_printable_line_of_bounded_length() -> None:
    name = "<img src=x onerror=alert(1)>\n\x1b[2J\u202e" + "x" * 1_000_000
    (link,) = links.of_result({"__links__": [{"name": name, "url": "http://jobs/1"}]})
    assert len(link.name) == links.NAME_MAX
    assert link.name.isprintable()
