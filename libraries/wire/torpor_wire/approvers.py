"""The users and groups that may answer an approval, and the form of an answer.

The users and groups are in the kwargs of the `approval` trigger, as text that no policy can read, and also in
`status.trigger.approvers`, where the policy `torpor-approval` checks the user who answers. Pure.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from torpor_wire.canonical import Json

NAMES_MAX = 32
NAME_MAX = 253
_FIELDS = ("users", "groups")


class Approvers(NamedTuple):
    """One of these users, or a member of one of these groups."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    def on_status(self) -> dict[str, list[str]]:
        """Return the value of `status.trigger.approvers` and of the kwarg."""
        given = {"users": list(self.users), "groups": list(self.groups)}
        return {field: names for field, names in given.items() if names}

    def shown(self) -> str:
        """Return text such as `ann, bob or members of sre`."""
        groups = f"members of {', '.join(self.groups)}" if self.groups else ""
        return " or ".join(words for words in (", ".join(self.users), groups) if words)


def parse_approvers(value: object) -> Approvers:
    """Return the approvers of `{users: [...], groups: [...]}`. Raises ValueError."""
    if not isinstance(value, Mapping) or not value or not set(value) <= set(_FIELDS):
        raise ValueError("approvers must be {users: [...], groups: [...]}, or one of them")
    users, groups = (_names(field, value.get(field, ())) for field in _FIELDS)
    if not users and not groups:
        raise ValueError(
            "approvers is empty, so no user could answer; omit it to allow every user who may patch the TaskRun"
        )
    return Approvers(users, groups)


def _names(field: str, names: object) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or len(names) > NAMES_MAX:
        raise ValueError(f"approvers: {field} must be a list of up to {NAMES_MAX} names")
    for name in names:
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= NAME_MAX:
            raise ValueError(f"approvers: {field} contains {name!r:.100}; a name has 1 to {NAME_MAX} characters")
    return tuple(names)


SUBJECT_MAX = 253
QUESTION_MAX = 2000
FIELDS_MAX = 16
OPTIONS_MAX = 32
ANSWER_MAX = 2048
"""Characters of the annotation with the answers."""
OPTIONS = "options"
"""The entry of the answers that has the chosen options."""
PATTERN_MATCHES = "value.matches('^(?:' + pattern + ')$')"
"""The expression that tells whether a value of a field matches its pattern."""
_TEXT_MAX = 253
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_KEYS = frozenset({"name", "type", "description", "required", "default", "enum", "min", "max", "pattern"})
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class AnswerError(ValueError):
    """An answer that does not fit. `field` is the field that it is about, or `options`; empty for the whole answer."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class FormField(NamedTuple):
    """A value that a person fills in. `least` and `most` are those of a number, or of the length of a text."""

    name: str
    type: str
    description: str
    required: bool
    default: Json
    enum: tuple[Json, ...]
    least: float | None
    most: float | None
    pattern: str

    def problem(self, value: Json) -> str:
        """Return why a value does not fit, without its pattern; empty if it fits."""
        if not isinstance(value, _TYPES[self.type]) or (isinstance(value, bool) and self.type != "boolean"):
            return f"{self.name} must be of type {self.type}"
        if isinstance(value, str) and _CONTROL.search(value):
            return f"{self.name} contains a control character"
        if self.enum and value not in self.enum:
            return f"{self.name} must be one of {', '.join(map(str, self.enum))}"
        if isinstance(value, bool):
            return ""
        size = len(value) if isinstance(value, str) else value
        unit = " characters" if isinstance(value, str) else ""
        if isinstance(size, int | float) and self.least is not None and size < self.least:
            return (
                f"{self.name} must have at least {self.least:g}{unit}"
                if unit
                else f"{self.name} is below {self.least:g}"
            )
        if isinstance(size, int | float) and self.most is not None and size > self.most:
            return (
                f"{self.name} must have at most {self.most:g}{unit}" if unit else f"{self.name} is above {self.most:g}"
            )
        return ""


class FormAnswers(NamedTuple):
    """What a person, or the default, answers: a value for each field that has one, and the chosen options."""

    fields: dict[str, Json]
    options: tuple[str, ...]


class Form(NamedTuple):
    """The fields of an approval, its options, and whether several may be chosen."""

    fields: tuple[FormField, ...] = ()
    options: tuple[str, ...] = ()
    multiple: bool = False

    def answers(self, given: Json) -> FormAnswers:
        """Return complete answers, with the defaults of the fields. Raises AnswerError that says what does not fit."""
        if not isinstance(given, Mapping):
            raise AnswerError("the answer must be a JSON object of the fields")
        known = {field.name for field in self.fields} | ({OPTIONS} if self.options else set())
        if unknown := sorted(str(name) for name in given if name not in known):
            raise AnswerError(f"{unknown[0]:.40} is not a field; fields: {', '.join(sorted(known)) or 'none'}")
        values = {field.name: given.get(field.name, field.default) for field in self.fields}
        for field in self.fields:
            if values[field.name] is None and field.required:
                raise AnswerError(f"{field.name} is missing", field.name)
            if values[field.name] is not None and (problem := field.problem(values[field.name])):
                raise AnswerError(problem, field.name)
        present: dict[str, Json] = {name: value for name, value in values.items() if value is not None}
        return FormAnswers(present, self._chosen(given.get(OPTIONS)))

    def _chosen(self, given: Json) -> tuple[str, ...]:
        chosen = [given] if isinstance(given, str) else given or []
        if not isinstance(chosen, list) or any(not isinstance(option, str) for option in chosen):
            raise AnswerError("options must be a list of options", OPTIONS)
        if wrong := [option for option in chosen if option not in self.options]:
            raise AnswerError(f"{wrong[0]:.100} is not an option; options: {', '.join(self.options)}", OPTIONS)
        if self.options and (not chosen or (len(chosen) > 1 and not self.multiple)):
            words = f"choose {'at least ' if self.multiple else ''}one of the options {', '.join(self.options)}"
            raise AnswerError(words, OPTIONS)
        return tuple(option for option in self.options if option in chosen)


NO_FORM = Form()


def parse_form(fields: object = None, options: object = None, multiple: object = False) -> Form:
    """Return the form of the arguments of an approval. Raises ValueError that names the field."""
    entries = [] if fields is None else fields
    if not isinstance(entries, list | tuple) or len(entries) > FIELDS_MAX:
        raise ValueError(f"fields must be a list of up to {FIELDS_MAX} fields")
    parsed = tuple(_field(entry) for entry in entries)
    if len({field.name for field in parsed}) < len(parsed):
        raise ValueError("fields: two fields have the same name")
    words = [] if options is None else options
    if not isinstance(words, list | tuple) or len(words) > OPTIONS_MAX or len({*map(str, words)}) < len(words):
        raise ValueError(f"options must be a list of up to {OPTIONS_MAX} different texts")
    for word in words:
        if not isinstance(word, str) or not word.isprintable() or not 0 < len(word) <= _TEXT_MAX:
            raise ValueError(f"options contains {word!r:.100}; an option is a text of 1 to {_TEXT_MAX} characters")
    if not isinstance(multiple, bool) or (multiple and not words):
        raise ValueError("multiple must be true or false, and needs options")
    return Form(parsed, tuple(words), multiple)


def _field(entry: object) -> FormField:
    if not isinstance(entry, Mapping) or not set(entry) <= _KEYS:
        raise ValueError(f"a field has {', '.join(sorted(_KEYS))}")
    name, kind, enum = entry.get("name"), entry.get("type", "string"), entry.get("enum") or ()
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name == OPTIONS:
        raise ValueError(f"fields: the name {name!r:.60} is not an identifier, or is taken")
    if kind not in _TYPES:
        raise ValueError(f"fields: {name}: type must be one of {', '.join(_TYPES)}")
    texts = [entry.get(key, "") for key in ("description", "pattern")]
    bounds = [entry.get(key) for key in ("min", "max")]
    required = entry.get("required", "default" not in entry)
    if (
        any(not isinstance(text, str) or len(text) > _TEXT_MAX for text in texts)
        or any(not isinstance(bound, int | float | None) or isinstance(bound, bool) for bound in bounds)
        or not isinstance(required, bool)
        or not isinstance(enum, list | tuple)
    ):
        raise ValueError(f"fields: {name}: description and pattern are texts, min and max numbers, enum a list")
    field = FormField(name, kind, texts[0], required, entry.get("default"), tuple(enum), bounds[0], bounds[1], texts[1])
    for value in (*field.enum, *([] if field.default is None else [field.default])):
        if problem := field.problem(value):
            raise ValueError(f"fields: enum or default: {problem}")
    return field
