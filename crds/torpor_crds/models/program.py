"""What a task runs: the command of a container task (ADR 0049), and files of a python task that no image has."""

from typing import Annotated

from pydantic import Field

from torpor_crds.models.base import Model, ObjectName


class SecretKey(Model):
    """A key of a Secret in the namespace."""

    name: Annotated[
        str,
        Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", description="Name of the Secret."),
    ]
    key: Annotated[
        str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$", description="Key of the Secret.")
    ]


class Command(Model):
    """The command of a container task. Kubernetes replaces `$(name)` of environment variables in it."""

    command: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=64, description="Replaces the entrypoint of the image."),
    ] = ()
    args: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=64, description="Replaces the arguments of the image."),
    ] = ()
    outcome: Annotated[
        bool | None,
        Field(
            description="Whether the program writes outcome documents, by which it can also defer, fail or skip its "
            "task. The variable TORPOR_OUTCOME names the file, and TORPOR_OUTCOME_NONCE the nonce of a document. Unset:"
            " each termination message is a result."
        ),
    ] = None
    trigger_secrets: Annotated[
        tuple[SecretKey, ...],
        Field(
            max_length=32,
            description="Keys of Secrets that a deferral of the program may name in `defer.trigger.secrets`. It may "
            "name no others.",
        ),
    ] = ()
    tools: Annotated[
        bool | None,
        Field(
            description="Mounts `/torpor/torpor-tool`, a static program, and a token for the archive. "
            "`torpor-tool put FILE` stores a result that is too large for the termination message. It includes "
            "`outcome: true`."
        ),
    ] = None

    @property
    def writes_outcomes(self) -> bool:
        """Whether the author lets the program write outcome documents (ADR 0049)."""
        return bool(self.outcome or self.tools)


class CodeSource(Model):
    """Python files that are not in the image."""

    config_map: Annotated[
        ObjectName,
        Field(description="Name of a ConfigMap of the namespace. Each key is a file, such as `load.py`."),
    ]
