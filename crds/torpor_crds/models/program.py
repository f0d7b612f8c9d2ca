"""What a task runs: the program of a container task (ADR 0049, ADR 0060), and files of a python task."""

from typing import Annotated

from pydantic import BeforeValidator, Field
from torpor_wire.enums import ProgramResult

from torpor_crds.models.base import Model, Name, ObjectName
from torpor_crds.models.pod_fields import EnvVar

SCRIPT_MAX = 16_384
_PATH_MAX = 1024


class SecretKey(Model):
    """A key of a Secret in the namespace."""

    name: Annotated[
        str,
        Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", description="Name of the Secret."),
    ]
    key: Annotated[
        str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+$", description="Key of the Secret.")
    ]


class ResultFile(Model):
    """A file whose content is the result."""

    path: Annotated[str, Field(min_length=2, max_length=_PATH_MAX, description="Absolute path of a file.")]


class ContainerProgram(Model):
    """A program of a container: a command or a script, and what its result is.

    Kubernetes replaces `$(name)` of environment variables in a command.
    """

    command: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=256, description="Replaces the entrypoint of the image."),
    ] = ()
    args: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=256, description="Replaces the arguments of the image."),
    ] = ()
    env: Annotated[
        tuple[EnvVar, ...],
        Field(
            max_length=64,
            description="Environment variables of the program, under their names as they are. They come after those of "
            "`pod.env`, and replace them.",
        ),
    ] = ()
    script: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=SCRIPT_MAX,
            description="Text of a script, instead of `command`. `args` are its arguments. `${params.x}` and "
            "`${variables.x}` are evaluated; other values come as variables, in `args` of the task or in `env`. `$${` "
            "is a literal `${`.",
        ),
    ] = None
    interpreter: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=253)], ...],
        Field(
            max_length=8,
            description="Program that runs the script, such as [python3]. Unset: that of its first line, `#!`, or sh.",
        ),
    ] = ()
    result: Annotated[
        ProgramResult | ResultFile | None,
        BeforeValidator(lambda value: value if _is_result(value) else None),
        Field(
            description="What the result is. stdout: the standard output, which also stays in the log. exitCode: the "
            "exit code, up to 125; such a code does not fail the task. {path: /tmp/out.json}: the content of a "
            "file. It needs `command` or `script`, except for exitCode. Unset: the termination message.",
            json_schema_extra={"x-any": True},
        ),
    ] = None

    @property
    def result_path(self) -> str | None:
        """The file whose content is the result."""
        return self.result.path if isinstance(self.result, ResultFile) else None

    @property
    def is_wrapped(self) -> bool:
        """Whether `torpor-tool run` starts the program, and stores its result (ADR 0060)."""
        return self.result is ProgramResult.STDOUT or self.result_path is not None

    @property
    def uses_tool(self) -> bool:
        """Whether the program needs the folder with `torpor-tool`, which also holds scripts."""
        return self.script is not None or self.is_wrapped


class ContainerStep(ContainerProgram):
    """One of several programs that run one after the other in the pod of a task."""

    name: Annotated[Name, Field(description="Name of the step: of its container, and of its result.")]
    image: Annotated[
        str | None, Field(max_length=512, description="Image of the step, instead of that of the task.")
    ] = None


class Command(ContainerProgram):
    """The program of a container task, or the steps of one."""

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
    steps: Annotated[
        tuple[ContainerStep, ...],
        Field(
            max_length=16,
            description="Programs that run one after the other in one pod, instead of a program of the task. The "
            "result of the task is an object with the result of each step by its name. If one fails, the attempt "
            "fails.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()

    @property
    def writes_outcomes(self) -> bool:
        """Whether the author lets the program write outcome documents (ADR 0049)."""
        return bool(self.outcome or self.tools)

    @property
    def earlier_steps(self) -> tuple[ContainerStep, ...]:
        """The steps before the last one, which is the container of the task."""
        return self.steps[:-1]

    @property
    def main(self) -> ContainerProgram:
        """The program of the container of the task: its own, or its last step."""
        return self.steps[-1] if self.steps else self

    @property
    def programs(self) -> tuple[ContainerProgram, ...]:
        """The program, or the steps."""
        return self.steps or (self,)

    @property
    def writes_documents(self) -> bool:
        """Whether an outcome document with the nonce of the pod is expected, of the program or of a wrapper."""
        return self.writes_outcomes or any(program.is_wrapped for program in self.programs)

    @property
    def needs_tool(self) -> bool:
        """Whether the pod has the folder with `torpor-tool`, which also holds scripts."""
        return bool(self.tools) or any(program.uses_tool for program in self.programs)

    @property
    def needs_archive(self) -> bool:
        """Whether the pod has a token for the archive, for a result that is too large for the termination message."""
        return bool(self.tools) or any(program.is_wrapped for program in self.programs)


def _is_result(value: object) -> bool:
    """Whether this version knows the result. The API server refuses any other one."""
    return (
        isinstance(value, ResultFile) or (isinstance(value, dict) and "path" in value) or value in list(ProgramResult)
    )


class CodeSource(Model):
    """Python files that are not in the image."""

    config_map: Annotated[
        ObjectName,
        Field(description="Name of a ConfigMap of the namespace. Each key is a file, such as `load.py`."),
    ]
