"""Marks the references to Secrets and ConfigMaps that the Workflow itself contains, and rejects those of values. Pure.

The response of an external server can contain `{"secretRef": ...}`. If an expression passes it to a trigger, following
it would send the Secret to that server. Only a reference that is literal text of the Workflow is marked and followed.
"""

from torpor_expressions.value import JSON
from torpor_wire import secret_ref, trigger


def mark(written: JSON, resolved: JSON, at: str = "kwargs") -> JSON:
    """The resolved kwargs with the references of the Workflow marked.

    `written` is the value in the Workflow. Raises TriggerError, with the field, for a reference that is not in the
    Workflow or contains an expression.
    """
    match written:
        case dict() if secret_ref.field_of(written) is not None:
            return _literal(written, at)
        case dict() if isinstance(resolved, dict) and not secret_ref.claims(written):
            return {name: mark(value, resolved[name], f"{at}.{name}") for name, value in written.items()}
        case list() if isinstance(resolved, list):
            pairs = enumerate(zip(written, resolved, strict=True))
            return [mark(item, value, f"{at}[{index}]") for index, (item, value) in pairs]
        case _:
            return require_data(resolved, at)


def require_data(value: JSON, at: str) -> JSON:
    """The value of an expression or an item. Raises TriggerError if it has the form of a reference."""
    field = secret_ref.claimed_field(value)
    if field is not None:
        raise trigger.TriggerError(
            f"{at}: the value contains a {field} that is not in the Workflow, which is not followed; write "
            f"{{{field}: {{name: NAME, key: KEY}}}} in the Workflow, without an expression"
        )
    return value


def _literal(written: dict[str, JSON], at: str) -> JSON:
    try:
        return secret_ref.of_field(written).written()
    except ValueError as error:
        raise trigger.TriggerError(
            f"{at}: {error}; name and key must be literal text, without an expression"
        ) from error
