"""Sealed values: what a task hands its trigger and nobody may read on the TaskRun."""

from __future__ import annotations

import base64
import hashlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor import sealing
from torpor.sealing import SealError, SealScope

PAIR = sealing.new_pair()
OTHER = sealing.new_pair()
SECRET = "hunter2"
USE = SealScope("team-a", "http", "encrypted__token")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(value=JSON)
def test_what_was_sealed_is_what_is_opened(value: object) -> None:
    assert sealing.unseal(sealing.seal(value, PAIR.public, USE), PAIR.private, USE) == value


def test_a_sealed_value_says_by_which_key_and_nothing_else() -> None:
    prefix, key, box = sealing.seal(SECRET, PAIR.public, USE).split(":")

    assert prefix == "sealed"
    assert key == hashlib.sha256(base64.b64decode(PAIR.public)).hexdigest()[:8]
    assert SECRET.encode() not in base64.b64decode(box)


def test_equal_values_are_sealed_to_different_texts() -> None:
    assert sealing.seal(SECRET, PAIR.public, USE) != sealing.seal(SECRET, PAIR.public, USE)


def test_a_sealed_value_copied_to_another_namespace_does_not_open() -> None:
    text = sealing.seal(SECRET, PAIR.public, USE)

    with pytest.raises(SealError, match="it was sealed in another namespace"):
        sealing.unseal(text, PAIR.private, USE._replace(namespace="team-b"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (USE._replace(class_name="webhook"), "for another class"),
        (USE._replace(argument="encrypted__url"), "as another argument"),
        (USE._replace(argument="headers/encrypted__token"), "as another argument"),
    ],
)
def test_a_sealed_value_does_not_open_in_another_class_or_argument(other: SealScope, words: str) -> None:
    with pytest.raises(SealError, match=f"it was sealed {words}"):
        sealing.unseal(sealing.seal(SECRET, PAIR.public, USE), PAIR.private, other)


def test_a_sealed_argument_of_one_trigger_does_not_open_in_another() -> None:
    kwargs = sealing.seal_kwargs("http", {"encrypted__token": SECRET}, PAIR.public, "team-a")
    box = kwargs["encrypted__token"]
    for class_name, copied in [
        ("webhook", kwargs),
        ("http", {"encrypted__url": box}),
        ("http", {"body": {"encrypted__token": box}}),
        ("http", {"body": [{"encrypted__token": box}]}),
        ("any_of", {"triggers": [{"class": "webhook", "kwargs": kwargs}]}),
        ("any_of", {"triggers": [], "encrypted__token": box}),
    ]:
        with pytest.raises(SealError, match="and opens only there"):
            sealing.unseal_kwargs(class_name, copied, PAIR.private, "team-a")


def test_a_sealed_value_of_an_earlier_version_says_what_to_do() -> None:
    from nacl import public  # noqa: PLC0415 - an extra

    key = public.PublicKey(base64.b64decode(PAIR.public))
    box = public.SealedBox(key).encrypt(b'{"namespace":"team-a","value":"hunter2"}')
    text = f"sealed:{sealing.key_id(PAIR.public)}:{base64.b64encode(box).decode()}"
    with pytest.raises(SealError, match="it does not name its class and argument"):
        sealing.unseal(text, PAIR.private, USE)


def test_a_sealed_value_for_a_removed_key_says_so() -> None:
    text = sealing.seal(SECRET, OTHER.public, USE)

    with pytest.raises(SealError, match=f"sealed with key {sealing.key_id(OTHER.public)}, but the key of the pool is"):
        sealing.unseal(text, PAIR.private, USE)


def test_a_sealed_value_that_was_changed_does_not_open() -> None:
    prefix, key, box = sealing.seal(SECRET, PAIR.public, USE).split(":")
    changed = bytearray(base64.b64decode(box))
    changed[-1] ^= 1

    with pytest.raises(SealError, match="it was modified"):
        sealing.unseal(f"{prefix}:{key}:{base64.b64encode(changed).decode()}", PAIR.private, USE)


@pytest.mark.parametrize("text", ["", "sealed", "sealed:12345678", "open:12345678:AAAA", SECRET, 5, None, ["sealed"]])
def test_an_invalid_sealed_value_is_refused_without_being_repeated(text: object) -> None:
    with pytest.raises(SealError, match="not a sealed value") as refused:
        sealing.unseal(text, PAIR.private, USE)
    assert SECRET not in str(refused.value)


def test_a_sealed_value_that_is_not_base64_is_refused() -> None:
    with pytest.raises(SealError, match="not base64"):
        sealing.unseal("sealed:12345678:%%%", PAIR.private, USE)


@pytest.mark.parametrize("key", ["", "a2V5", "no key", base64.b64encode(bytes(33)).decode()])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(SealError, match="public key is not 32 bytes"):
        sealing.seal(SECRET, key, USE)
    with pytest.raises(SealError, match="private key is not 32 bytes"):
        sealing.unseal(sealing.seal(SECRET, PAIR.public, USE), key, USE)


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(SealError, match=r"\$.value is of type bytes"):
        sealing.seal(b"x", PAIR.public, USE)


def test_only_arguments_declared_as_encrypted_are_sealed() -> None:
    kwargs = sealing.seal_kwargs("http", {"url": "https://a", "encrypted__token": SECRET}, PAIR.public, "team-a")

    assert kwargs["url"] == "https://a"
    assert SECRET not in str(kwargs)
    assert sealing.unseal_kwargs("http", kwargs, PAIR.private, "team-a") == {"url": "https://a", "token": SECRET}


def test_arguments_of_triggers_within_a_trigger_are_sealed_too() -> None:
    part = {"class": "http", "kwargs": {"headers": {"encrypted__authorization": SECRET}}}
    kwargs = sealing.seal_kwargs("any_of", {"triggers": [part]}, PAIR.public, "team-a")

    assert SECRET not in str(kwargs)
    opened = {"triggers": [{"class": "http", "kwargs": {"headers": {"authorization": SECRET}}}]}
    assert sealing.unseal_kwargs("any_of", kwargs, PAIR.private, "team-a") == opened


def test_an_argument_that_is_given_open_and_sealed_is_refused() -> None:
    kwargs = sealing.seal_kwargs("http", {"token": "open", "encrypted__token": SECRET}, PAIR.public, "team-a")

    with pytest.raises(SealError, match="token is given twice"):
        sealing.unseal_kwargs("http", kwargs, PAIR.private, "team-a")


def test_an_argument_that_does_not_open_is_named() -> None:
    with pytest.raises(SealError, match="encrypted__token: it is not a sealed value"):
        sealing.unseal_kwargs("http", {"encrypted__token": SECRET}, PAIR.private, "team-a")


def test_without_a_key_there_is_nothing_to_seal_with() -> None:
    with pytest.raises(SealError, match="encrypted__token: the triggerer pool has not published a key yet"):
        sealing.seal_kwargs("http", {"encrypted__token": SECRET}, None, "team-a")
    assert sealing.seal_kwargs("http", {"url": "https://a"}, None, "team-a") == {"url": "https://a"}


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nacl", None)

    with pytest.raises(SealError, match=r"pip install 'torpor\[seal\]'"):
        sealing.seal_kwargs("http", {"encrypted__token": SECRET}, PAIR.public, "team-a")
