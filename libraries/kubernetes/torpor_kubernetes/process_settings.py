"""The settings of a process: from flags, else from environment variables, else defaults. Frozen at start.

Operator, triggerer, and archive derive their settings from `ProcessSettings`. Environment variables keep their own
names without a common prefix, so each program maps them to fields.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self, TypeAlias

from pydantic import Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    CliSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from torpor_kubernetes.log_setup import LogFormat

ARCHIVE_TOKEN_FILE = "/var/run/secrets/torpor.dev/archive/token"  # noqa: S105 - a path
"""The projected token of the archive's audience, which the API server refuses. The kubelet renews it in place."""


NamespaceName: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]


class ProcessSettings(BaseSettings):
    """Each field is a flag. The constructor reads neither flags nor the environment: see `parse`."""

    model_config = SettingsConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=True,
        coerce_numbers_to_str=True,  # the library reads an item of a list as JSON first
        cli_kebab_case=True,
        cli_implicit_flags=True,
    )

    variables: ClassVar[Mapping[str, str]] = {}
    """The environment variable of a field. A flag overrides it."""
    shared_variables: ClassVar[Mapping[str, str]] = {"log_format": "TORPOR_LOG_FORMAT"}
    """The same for the fields that all programs have."""
    list_variables: ClassVar[Mapping[str, str]] = {}
    """The environment variable of a repeatable flag: items separated by commas or spaces. Flags add to them."""

    log_format: LogFormat = Field(
        default=LogFormat.TEXT, description="text for people, or json: one object a line, with the run that it is about"
    )

    @classmethod
    def parse(cls, arguments: Sequence[str], environ: Mapping[str, str]) -> Self:
        """Read the settings of this process. Exits with a usage message if they are invalid."""
        try:
            command_line: CliSettingsSource[Any] = CliSettingsSource(cls, cli_parse_args=list(arguments))
        except SettingsError as error:
            raise SystemExit(f"{cls.model_config.get('cli_prog_name')}: error: {error}") from error
        flags = command_line()
        variables = {**cls.shared_variables, **cls.variables}
        values = {field: environ[name] for field, name in variables.items() if environ.get(name)}
        lists = {
            field: (*_split(environ.get(name, "")), *flags.get(field, ())) for field, name in cls.list_variables.items()
        }
        try:
            return cls(**{**values, **flags, **lists})
        except ValidationError as error:
            command_line.root_parser.error("; ".join(_problem(entry["loc"], entry["msg"]) for entry in error.errors()))
            raise  # for mypy: the parser has exited

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the library's signature, as the next three
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only the arguments of the constructor."""
        return (init_settings,)


def _problem(place: tuple[int | str, ...], message: str) -> str:
    """Return what is wrong with a flag, or with several together, whose message names them."""
    if not place:
        return message.removeprefix("Value error, ")
    return f"--{str(place[0]).replace('_', '-')}: {message}"


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", text) if part]
