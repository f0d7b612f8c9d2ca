"""Log lines of triggers: their wait, which are kept, and what they never contain."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from torpor_kubernetes.log_setup import LogFormat
from torpor_triggerer.logs import redaction
from torpor_triggerer.logs.trigger_log import HIDDEN_MAX, HIDDEN_TEXT_MAX, LINE_MAX, LINES, TriggerLog, WaitLog, hide
from torpor_triggerer.model.deferred_taskrun import TriggerWait, parse
from torpor_triggerer.services.client_pool import ClientPool
from torpor_wire import typed_json

log = logging.getLogger("a.library")


def wait(name: str = "drop-abcde") -> TriggerWait:
    return parse(
        {
            "metadata": {
                "name": name,
                "namespace": "workflows",
                "uid": "u",
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "resourceVersion": "1",
            },
            "spec": {"workflow": {"name": "w", "uid": "u"}, "task": "t", "python": "m:f", "image": "i"},
            "status": {"state": "Deferred", "attempt": 2, "segment": 1, "launch": 0},
        }
    )


@pytest.fixture
def written() -> Iterator[tuple[TriggerLog, io.StringIO]]:
    """A journal, and what its handler wrote."""
    trigger_log, stream = TriggerLog(), io.StringIO()
    handler = trigger_log.handler(stream)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield trigger_log, stream
    root.removeHandler(handler)
    root.setLevel(before)


Written = tuple[TriggerLog, io.StringIO]


def failing(text: str) -> None:
    try:
        raise LookupError(text)
    except LookupError:
        log.warning("it failed:\n%s", text, exc_info=True)


def test_each_line_names_its_wait_including_lines_of_a_traceback(written: Written) -> None:
    trigger_log, stream = written
    log.info("nobody's")
    with trigger_log.create(wait()).active():
        failing("no row")
    nobodys, *lines = stream.getvalue().splitlines()
    assert nobodys.endswith(" INFO a.library: nobody's")
    assert len(lines) > 4
    assert all(" WARNING a.library: [workflows/drop-abcde a2 s1] " in line for line in lines)
    assert lines[-1].endswith("LookupError: no row")


async def test_tasks_and_threads_that_a_trigger_starts_speak_for_it(written: Written) -> None:
    trigger_log, stream = written

    async def inner(said: str) -> None:
        log.info(said)

    async def conduct(wait_log: WaitLog, said: str) -> None:
        wait_log.activate()
        await asyncio.create_task(inner(said))
        await asyncio.to_thread(log.info, said)

    await asyncio.gather(conduct(trigger_log.create(wait("one")), "1"), conduct(trigger_log.create(wait("two")), "2"))
    log.info("nobody's")
    tags = sorted(line.partition("a.library: ")[2] for line in stream.getvalue().splitlines())
    assert tags == [*["[workflows/one a2 s1] 1"] * 2, *["[workflows/two a2 s1] 2"] * 2, "nobody's"]


def test_the_last_lines_are_kept_and_no_more(written: Written) -> None:
    wait_log = written[0].create(wait())
    assert not TriggerLog().create(wait()).lines
    with wait_log.active():
        for number in range(LINES + 5):
            log.info("line %d %s", number, "x" * 1000)
        log.debug("below the level")
    assert len(wait_log.lines) == LINES
    numbers = [int(line.split()[5]) for line in wait_log.lines]
    assert numbers == list(range(5, LINES + 5))
    assert {len(line) for line in wait_log.lines} == {LINE_MAX}


def test_logged_text_reaches_no_terminal_raw_and_starts_no_line(written: Written) -> None:
    trigger_log, stream = written
    said = "\x1b[2J\x9b0m\r2026-01-01 INFO forged\n2026-01-01 INFO forged"
    log.warning("%s", said)
    wait_log = trigger_log.create(wait())
    with wait_log.active():
        log.warning("%s", said)
    assert all(character == "\n" or character.isprintable() for character in stream.getvalue())
    assert all(line.isprintable() for line in wait_log.lines)
    assert not [line for line in stream.getvalue().splitlines() if line.startswith("2026-01-01 INFO forged")]


def test_a_secret_is_blacked_out_wherever_it_comes_up(written: Written) -> None:
    trigger_log, stream = written
    wait_log = trigger_log.create(wait())
    wait_log.set_secrets(["hunter2 & co\n"])
    with wait_log.active():
        failing("hunter2 & co")
        log.info("%r, %s", "hunter2 & co\n", json.dumps("hunter2 & co\n"))
        log.info("hunter2%20%26%20co, hunter2+%26+co, aHVudGVyMiAmIGNv")
    log.info("nobody's: hunter2 & co")
    assert "unter2" not in stream.getvalue() + "".join(wait_log.lines)
    assert "aHVud" not in stream.getvalue()
    assert "LookupError: ***" in stream.getvalue()


def test_a_line_that_cannot_be_formatted_does_not_show_what_it_was_made_of(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    _, stream = written
    others = [handler for handler in logging.getLogger().handlers if getattr(handler, "stream", None) is not stream]
    for other in others:
        logging.getLogger().removeHandler(other)
    try:
        log.info("%d", "hunter2")
    finally:
        for other in others:
            logging.getLogger().addHandler(other)
    assert "Failed to write a log record" in stream.getvalue()
    assert "hunter2" not in stream.getvalue() + capsys.readouterr().err


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("postgresql://u:p%40ss@db/x", "failed for p@ss, p%40ss at db"),
        ("Bearer abc.def", "the token abc.def is stale"),
        ("-----BEGIN KEY-----\nMIIBVgIBADANBgkq\n-----END KEY-----\n", "bad line MIIBVgIBADANBgkq"),
        ("ééé", "\\u00e9\\u00e9\\u00e9, ééé, %C3%A9%C3%A9%C3%A9"),
    ],
)
def test_what_is_secret_in_a_secret_is_blacked_out_too(secret: str, shown: str) -> None:
    redacted = redaction.redact(shown, redaction.spellings([secret]))
    assert "***" in redacted
    assert not any(part in redacted for part in ("p@ss", "p%40ss", "abc.def", "MIIB", "é", "u00e9", "C3"))


def test_a_secret_that_is_a_prefix_of_another_leaves_no_suffix() -> None:
    assert redaction.redact("abcdef, abc", redaction.spellings(["abc", "abcdef"])) == "***, ***"


@pytest.mark.parametrize(
    "connection",
    [
        '{"conn_type": "http", "host": "warehouse", "password": "hunter22"}',
        '{"host": "warehouse", "extra": "{\\"api_key\\": \\"hunter22\\"}"}',
        '{"host": "warehouse", "extra": {"tokens": ["hunter22"]}}',
        "postgres://ann@warehouse/db?sslpassword=hunter22",
    ],
)
def test_the_password_within_a_connection_is_redacted_alone(connection: str) -> None:
    redacted = redaction.redact("warehouse refused hunter22", redaction.spellings([connection]))
    assert redacted == "warehouse refused ***"


@pytest.mark.attack
@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"password":' * 5_000, '{"password": "x"' + ', "a": 1' * 50_000 + "}"], ids=len
)
def test_a_secret_of_any_shape_is_redacted_with_bounded_work(text: str) -> None:
    assert text in redaction.spellings([text])


def test_nothing_is_blacked_out_for_an_empty_secret() -> None:
    assert redaction.redact("some words", redaction.spellings(["", "\n"])) == "some words"


@pytest.mark.parametrize(
    ("event", "cleaned"),
    [
        ({"echo": "Bearer hunter2hunter2", "n": [1, "hunter2hunter2"]}, {"echo": "Bearer ***", "n": [1, "***"]}),
        ({"hunter2hunter2": 1}, {"***": 1}),
        ({"short": "abc", "n": 1.0}, {"short": "abc", "n": 1.0}),
    ],
)
def test_an_event_loses_what_can_be_nothing_but_a_secret(event: Any, cleaned: Any) -> None:
    text = redaction.redact_json(json.dumps(event), redaction.spellings(["hunter2hunter2", "abc"]))
    assert text == json.dumps(cleaned, separators=(",", ":"))


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_secret_within_bytes_is_found_at_any_position(offset: int) -> None:
    begin = b"x" * offset
    text = redaction.redact_json(
        typed_json.text({"raw": begin + b"hunter2hunter2 and more"}), redaction.spellings(["hunter2hunter2"])
    )

    assert typed_json.decode(json.loads(text)) == {"raw": begin + b"*** and more"}


def test_a_typed_secret_value_becomes_text_and_the_event_stays_readable() -> None:
    secret = UUID(int=5)
    event = {"id": secret, "rows": (1, str(secret)), "odd": {"__type": "bytes", "__var": "?"}}
    text = redaction.redact_json(typed_json.text(event), redaction.spellings([str(secret), "datetime"]))

    assert typed_json.decode(json.loads(text)) == {"id": "***", "rows": (1, "***"), "odd": event["odd"]}


async def test_a_task_of_a_shared_client_logs_for_no_wait_and_shows_no_secret(written: Written) -> None:
    trigger_log, stream = written
    wait_log = trigger_log.create(wait())
    wait_log.set_secrets(["hunter2-hunter2"])

    async def background() -> None:
        log.info("lost hunter2-hunter2")

    async def close(task: asyncio.Task[None]) -> None:
        await task

    clients = ClientPool()
    with wait_log.active():
        async with clients.acquire("key", lambda: asyncio.create_task(background()), close):
            log.info("has it")
    await clients.closed()
    assert [line.partition("a.library: ")[2] for line in stream.getvalue().splitlines()] == [
        "[workflows/drop-abcde a2 s1] has it",
        "lost ***",
    ]


def test_a_json_line_names_its_wait_and_redacts_its_secrets() -> None:
    trigger_log, stream = TriggerLog(LogFormat.JSON), io.StringIO()
    handler = trigger_log.handler(stream)
    of_wait = trigger_log.create(wait())
    of_wait.set_secrets(["hunter2-hunter2"])
    with of_wait.active():
        handler.handle(logging.LogRecord("mine", logging.INFO, "", 0, "login with\nhunter2-hunter2", (), None))
    (line,) = stream.getvalue().splitlines()
    fields = json.loads(line)
    assert fields["message"] == "login with\n***"
    assert fields["component"] == "triggerer"
    expected = wait().log_fields
    assert {"namespace", "taskrun", "taskrunUid", "attempt", "segment"} == expected.keys()
    assert expected.items() <= fields.items()


def test_a_text_that_a_trigger_hides_is_redacted_for_its_waits(written: Written) -> None:
    trigger_log, stream = written
    shared, first, other = (trigger_log.create(wait(name)) for name in ("shared", "first", "other"))
    first.set_secrets(["hunter22"])
    shared.copy_secrets(first)
    first.follow(shared)
    with shared.active():
        hide(["of the vault"])
        log.info("hunter22 is of the vault")
    assert stream.getvalue().endswith(" *** is ***\n")
    assert first.redact("hunter22, of the vault") == "***, ***"
    assert first.redact_event('{"text": "it is of the vault"}') == '{"text":"it is ***"}'
    assert other.redact("of the vault") == "of the vault"
    log.info("nobody's line of the vault")
    assert stream.getvalue().endswith("nobody's line ***\n")


@pytest.mark.attack
@pytest.mark.parametrize("texts", [["secret"] * (HIDDEN_MAX + 1), ["x" * (HIDDEN_TEXT_MAX + 1)]])
def test_a_trigger_hides_a_bounded_amount_of_text(texts: list[str]) -> None:
    with TriggerLog().create(wait()).active(), pytest.raises(ValueError, match="hides up to"):
        hide(texts)


@pytest.mark.attack
def test_a_trigger_that_hides_texts_again_and_again_is_stopped() -> None:
    def hide_for_ever() -> None:
        for number in range(10_000):
            hide([f"secret-{number}"])

    with TriggerLog().create(wait()).active(), pytest.raises(ValueError, match="too many"):
        hide_for_ever()
