"""Images with expressions: which part of an image each one chooses, and what is a valid image (ADR 0059). Pure.

Data, such as the result of a task, may choose the tag or the digest of a repository that its author wrote, never the
repository: an image is code with the rights of its pod.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from torpor_expressions import errors, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON

IMAGE_MAX = 512
_REFERENCE = re.compile(
    r"(?:\[[0-9a-fA-F:]+\](?::[0-9]+)?/)?[A-Za-z0-9][\w.:/-]*(?:@[A-Za-z0-9]+:[0-9a-fA-F]{32,})?", re.ASCII
)
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class ImageExpression(NamedTuple):
    """An expression of an image. `separator`: `:` or `@` before it, if its author wrote the repository; else empty."""

    expression: str
    separator: str


def expressions(image: str) -> Iterator[ImageExpression]:
    """The expressions of an image that parses as a template."""
    parsed = template.parse(image)
    parts = () if isinstance(parsed, ExpressionError) else parsed.parts
    for number, part in enumerate(parts):
        if isinstance(part, str):
            continue
        before, after = (_literals(each) for each in (parts[:number], parts[number + 1 :]))
        name = before.rpartition("/")[2]
        is_suffix = name[:1].isalnum() and (":" in name or "@" in name) and "/" not in after
        yield ImageExpression(part.source, ("@" if name.endswith("@") else ":") if is_suffix else "")


def rendered(image: str, results: dict[str, JSON]) -> str | ExpressionError:
    """The image with the values of its expressions, or why it is not one."""
    for expression, separator in expressions(image):
        result = results[expression]
        if isinstance(result, bool) or not isinstance(result, str | int | float):
            return errors.failed("a part of an image must be a text or a number").with_expression(expression)
        value = str(result)
        if separator == ":" and not _TAG.fullmatch(value):
            return errors.failed(f"{value[:80]!r} is not a tag: letters, digits, _, . and -, 128 at most")
        if separator == "@" and not _DIGEST.fullmatch(value):
            return errors.failed(f"{value[:80]!r} is not a digest: sha256: and 64 hexadecimal digits")
    text = template.substitute(image, results)
    return text if isinstance(text, ExpressionError) else problem(str(text)) or str(text)


def problem(image: str) -> ExpressionError | None:
    """Why a text is not an image."""
    if len(image) <= IMAGE_MAX and _REFERENCE.fullmatch(image):
        return None
    return errors.failed(f"{image[:120]!r} is not an image: write [registry/]name[:tag][@digest]")


def _literals(parts: tuple[str | template.TemplateExpression, ...]) -> str:
    """The literal text of the parts; an expression counts as a letter."""
    return "".join(part if isinstance(part, str) else "x" for part in parts)
