"""An HTTP request as a task (ADR 0076)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from torpor_crds.models.base import Duration, Model, Value

CLASS_NAME = "http_call"
"""The registered trigger class that sends the request."""
HttpMethod = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class HttpTask(Model):
    """One HTTP request. The triggerer sends it, so it needs no pod."""

    url: Annotated[
        Value,
        Field(
            description="An http or https URL, or `{secretRef: {name, key}}`. May contain `${...}` expressions. "
            "Redirects are not followed."
        ),
    ]
    method: Annotated[HttpMethod, Field(description="Method of the request.")] = "GET"
    headers: Annotated[
        dict[str, Value],
        Field(
            max_length=32,
            description="Headers: a text with `${...}` expressions, or `{secretRef: {name, key}}`. A POST and a PATCH "
            "get an Idempotency-Key, unless it is here.",
        ),
    ] = Field(default_factory=dict)
    body: Annotated[
        str | None, Field(max_length=4096, description="Text to send. May contain `${...}` expressions.")
    ] = None
    json_: Annotated[
        Value,
        Field(
            alias="json",
            description="JSON value to send instead of `body`. Strings may contain `${...}` expressions, and a value "
            "may be `{secretRef: {name, key}}`.",
        ),
    ] = None
    success: Annotated[
        tuple[Value, ...],
        Field(
            max_length=16,
            description="Expected status: codes such as 201, and ranges such as `200-299`. Any other fails the "
            "attempt. Unset: 200-299.",
        ),
    ] = ()
    timeout: Annotated[
        Duration | None,
        Field(description="Maximum duration of the request, at most 1m unless the triggerer allows more. Unset: 30s."),
    ] = None

    def kwargs(self) -> dict[str, Any]:
        """The arguments of the trigger that sends the request."""
        given = {
            "url": self.url,
            "method": None if self.method == "GET" else self.method,
            "headers": self.headers or None,
            "body": self.body,
            "json": self.json_,
            "success": list(self.success) or None,
            "timeout": self.timeout,
        }
        return {name: value for name, value in given.items() if value is not None}
