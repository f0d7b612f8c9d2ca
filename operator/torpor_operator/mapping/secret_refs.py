"""Which references to Secrets a Workflow's author wrote, told from those that came with a result. Pure.

The answer of an outside server can hold `{"secretRef": ...}`. Where an expression passes it on into the kwargs of a
trigger, the triggerer must not follow it: the server would receive the Secret. So only a reference that stands
literally in the Workflow gets the mark; anything else that claims to be one is refused.
"""

from torpor_cel.value import JSON
from torpor_wire import secret_ref, trigger


def marked(written: JSON, resolved: JSON, at: str = "kwargs") -> JSON:
    """The resolved kwargs with the author's references marked.

    `written` is what the Workflow holds. Raises TriggerError naming the place of a reference that the author did not
    write, or wrote with an expression in it.
    """
    match written:
        case dict() if secret_ref.FIELD in written:
            return _literal(written, at)
        case dict() if isinstance(resolved, dict) and not secret_ref.claims(written):
            return {name: marked(value, resolved[name], f"{at}.{name}") for name, value in written.items()}
        case list() if isinstance(resolved, list):
            pairs = enumerate(zip(written, resolved, strict=True))
            return [marked(one, value, f"{at}[{index}]") for index, (one, value) in pairs]
        case _:
            return data(resolved, at)


def data(value: JSON, at: str) -> JSON:
    """The value of an expression or an item, as it is. Raises TriggerError where it claims to be a reference."""
    if secret_ref.is_claimed(value):
        raise trigger.TriggerError(
            f"{at}: it holds a secretRef that is not written in the Workflow but came with a value, and is not "
            "followed; spell {secretRef: {name: NAME, key: KEY}} out there, without an expression"
        )
    return value


def _literal(written: dict[str, JSON], at: str) -> JSON:
    try:
        return secret_ref.of_field(written).written()
    except ValueError as error:
        raise trigger.TriggerError(f"{at}: {error}; name and key are literal text, without an expression") from error
