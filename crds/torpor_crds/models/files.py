"""Files of a task (ADR 0064): as its author writes them, as its TaskRun has them, and the descriptions of outputs."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field
from torpor_wire import constants
from torpor_wire.enums import Compression, FileKind

from torpor_crds.models.base import Identifier, Model, ObjectName
from torpor_crds.models.program import SecretKey

DIGEST = {"pattern": r"^[0-9a-f]{64}$"}
_PART = r"[^/.:\x00-\x1f][^/:\x00-\x1f]*|\.[^/.:\x00-\x1f][^/:\x00-\x1f]*|\.\.[^/:\x00-\x1f]+"
PATH = {"pattern": rf"^(/({_PART}))+$"}
"""Absolute, without `.`, `..`, empty parts, and colons, which a mount path cannot have."""
FilePath = Annotated[str, Field(min_length=2, max_length=1024, json_schema_extra=PATH)]
Digest = Annotated[str, Field(max_length=64, json_schema_extra=DIGEST)]
FileText = Annotated[str, Field(max_length=constants.FILE_TEXT_MAX)]
Url = Annotated[str, Field(min_length=1, max_length=2048)]
_EXPRESSIONS = "It may contain `${...}` expressions."
FILE_REFERENCE = r"^\$\{ *tasks\.[a-z][a-z0-9_]{0,39}\.files\.[a-z][a-z0-9_]{0,39} *\}$"
"""The text form of a source: `${tasks.extract.files.table}`."""


class ConfigMapFile(Model):
    """A ConfigMap of the namespace: a folder with its keys, or one key as a file."""

    name: Annotated[ObjectName, Field(description="Name of the ConfigMap.")]
    key: Annotated[
        str | None,
        Field(
            max_length=253,
            json_schema_extra={"pattern": r"^[-._a-zA-Z0-9]+$"},
            description="The key whose value is the file. Unset: a folder with a file for each key.",
        ),
    ] = None


class HttpFile(Model):
    """A file of a web server."""

    url: Annotated[Url, Field(description=f"Address, with http:// or https://. {_EXPRESSIONS}")]
    sha256: Annotated[
        Digest | None, Field(description="SHA-256 of the content, in hexadecimal. Another content fails the task.")
    ] = None


class ObjectFile(Model):
    """An object of an object store, or a folder with all objects below a prefix. Without keys, it must be public."""

    url: Annotated[
        str,
        Field(
            max_length=2048,
            json_schema_extra={"pattern": r"^(s3|gs|az)://."},
            description="s3://BUCKET/KEY, gs://BUCKET/KEY or az://CONTAINER/PATH. With a slash at its end it is a "
            f"prefix. {_EXPRESSIONS}",
        ),
    ]
    sha256: Annotated[
        Digest | None, Field(description="SHA-256 of the object, in hexadecimal. Another content fails the task.")
    ] = None
    endpoint: Annotated[
        str | None,
        Field(
            max_length=512,
            json_schema_extra={"pattern": r"^https?://[^/@$ ]+(/[^$?# ]*)?$"},
            description="Address of another store with the same API, such as https://minio.example.org:9000. Unset: "
            "that of the cloud.",
        ),
    ] = None
    region: Annotated[
        str | None,
        Field(
            max_length=40,
            json_schema_extra={"pattern": r"^[a-z0-9-]+$"},
            description="Region of the bucket (s3). Unset: us-east-1.",
        ),
    ] = None
    access_key_id: Annotated[SecretKey | None, Field(description="ID of the access key (s3), in a Secret.")] = None
    secret_access_key: Annotated[SecretKey | None, Field(description="Access key (s3), in a Secret.")] = None
    session_token: Annotated[
        SecretKey | None, Field(description="Session token of temporary keys (s3), in a Secret.")
    ] = None
    service_account_key: Annotated[
        SecretKey | None, Field(description="JSON key of a service account (gs), in a Secret.")
    ] = None
    account_name: Annotated[
        str | None,
        Field(
            max_length=24,
            json_schema_extra={"pattern": r"^[a-z0-9]{3,24}$"},
            description="Name of the storage account (az).",
        ),
    ] = None
    account_key: Annotated[SecretKey | None, Field(description="Key of the storage account (az), in a Secret.")] = None
    sas_token: Annotated[SecretKey | None, Field(description="Shared access signature (az), in a Secret.")] = None


class GitFile(Model):
    """The files of one commit of a Git repository, without its history. Submodules are empty folders."""

    url: Annotated[
        Url,
        Field(
            description="Address of the repository, with https:// or http://. With `token`, the server is not an "
            f"expression. {_EXPRESSIONS}"
        ),
    ]
    ref: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1024,
            description="Branch, tag, or the 40 digits of a commit. Unset: the default branch. " + _EXPRESSIONS,
        ),
    ] = None
    path: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=1024,
            description=f"Folder or file in the repository. Unset: the whole repository. {_EXPRESSIONS}",
        ),
    ] = None
    token: Annotated[SecretKey | None, Field(description="Access token or password, in a Secret.")] = None
    username: Annotated[
        str | None,
        Field(
            max_length=253,
            json_schema_extra={"pattern": r"^[!-9;-~]+$"},
            description="User of the token. Unset: git, which most hosts accept with a token.",
        ),
    ] = None


class FileSource(Model):
    """Where an input comes from: exactly one of task, text, configMap, http, object and git."""

    task: Annotated[
        Identifier | None,
        Field(
            description="An upstream task. `file` names one of its outputs. If it is mapped, the input is a folder "
            "with one entry for each index."
        ),
    ] = None
    file: Annotated[Identifier | None, Field(description="Name of the output of `task`.")] = None
    text: Annotated[FileText | None, Field(description=f"The content of the file. {_EXPRESSIONS}")] = None
    config_map: Annotated[ConfigMapFile | None, Field(description="A ConfigMap of the namespace.")] = None
    http: Annotated[HttpFile | None, Field(description="A file of a web server.")] = None
    object: Annotated[ObjectFile | None, Field(description="An object, or a prefix, of S3, GCS or Azure.")] = None
    git: Annotated[GitFile | None, Field(description="The files of a commit of a Git repository.")] = None


def _expand_reference(source: object) -> object:
    """The fields of a source that is a text. Another text has none: the API server refuses it."""
    if not isinstance(source, str):
        return source
    _, task, _, file = source.strip("${ }").split(".") if re.match(FILE_REFERENCE, source) else ("", None, "", None)
    return {"task": task, "file": file}


class TaskInput(Model):
    """A file or folder that the pod has before the task begins."""

    name: Annotated[Identifier, Field(description="Name of the input, for `torpor.files.input_path` in Python.")]
    source: Annotated[
        FileSource,
        BeforeValidator(_expand_reference),
        Field(
            alias="from",
            description="Where it comes from: an object with one source, or `${tasks.NAME.files.OUTPUT}` for an output "
            "of an upstream task.",
            json_schema_extra={"x-text-form": {"pattern": FILE_REFERENCE, "maxLength": 128}},
        ),
    ]
    path: Annotated[FilePath | None, Field(description="Absolute path in the container. Unset: /files/in/NAME.")] = None
    optional: Annotated[
        bool | None,
        Field(description="Whether the task runs without it, if the upstream task has not stored it. Default: false."),
    ] = None


class TaskOutput(Model):
    """A file or folder that is stored after the task succeeded."""

    name: Annotated[
        Identifier,
        Field(description="Name of the output, for other tasks, and for `torpor.files.output_path`."),
    ]
    path: Annotated[FilePath | None, Field(description="Absolute path in the container. Unset: /files/out/NAME.")] = (
        None
    )
    optional: Annotated[
        bool | None, Field(description="Whether the task succeeds if the path does not exist. Default: false.")
    ] = None
    compress: Annotated[
        Compression | None, Field(description="gzip compresses the content while it is stored. Unset: none.")
    ] = None


class TaskFiles(Model):
    """Files that a task reads and writes. They go between its pod and the archive."""

    in_: Annotated[
        tuple[TaskInput, ...],
        Field(
            alias="in",
            max_length=constants.FILES_MAX,
            description="Files and folders that the pod has before the task begins.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()
    out: Annotated[
        tuple[TaskOutput, ...],
        Field(
            max_length=constants.FILES_MAX,
            description="Files and folders that are stored after the task succeeded.",
            json_schema_extra={"x-key": "name"},
        ),
    ] = ()


class StoredFile(Model):
    """A stored output."""

    name: Annotated[Identifier, Field(description="Name of the output.")]
    size: Annotated[int, Field(ge=0, le=2**53, description="Size in the archive, in bytes.")]
    digest: Annotated[Digest, Field(description="SHA-256 of the bytes in the archive, in hexadecimal.")]
    kind: Annotated[FileKind, Field(description="file, folder (a tar stream), or either with +gzip.")]


class FileOrigin(Model):
    """An output of another TaskRun of the run."""

    taskrun: Annotated[str, Field(max_length=63, description="uid of the TaskRun that stored it.")]
    name: Annotated[Identifier, Field(description="Name of the output.")]
    digest: Annotated[Digest, Field(description="SHA-256 of the bytes in the archive.")]
    size: Annotated[int, Field(ge=0, le=2**53, description="Size in the archive, in bytes.")]
    kind: Annotated[FileKind, Field(description="file, folder, file+gzip or folder+gzip.")]
    entry: Annotated[
        str | None, Field(max_length=63, description="Entry of the input's folder, if the upstream task is mapped.")
    ] = None


class RunInput(Model):
    """An input of a TaskRun, with evaluated expressions."""

    name: Annotated[Identifier, Field(description="Name of the input.")]
    path: Annotated[FilePath, Field(description="Absolute path in the container.")]
    origins: Annotated[
        tuple[FileOrigin, ...],
        Field(max_length=constants.FILE_ORIGINS_MAX, description="The stored outputs that it consists of."),
    ] = ()
    text: Annotated[FileText | None, Field(description="The content of the file.")] = None
    config_map: Annotated[ConfigMapFile | None, Field(description="A ConfigMap of the namespace.")] = None
    http: Annotated[HttpFile | None, Field(description="A file of a web server.")] = None
    object: Annotated[ObjectFile | None, Field(description="An object, or a prefix, of S3, GCS or Azure.")] = None
    git: Annotated[GitFile | None, Field(description="The files of a commit of a Git repository.")] = None


class RunOutput(Model):
    """An output of a TaskRun."""

    name: Annotated[Identifier, Field(description="Name of the output.")]
    path: Annotated[FilePath, Field(description="Absolute path in the container.")]
    optional: Annotated[bool | None, Field(description="Whether it may be missing.")] = None
    compress: Annotated[Compression | None, Field(description="Compression of the content.")] = None


class RunFiles(Model):
    """The files of a TaskRun."""

    in_: Annotated[
        tuple[RunInput, ...],
        Field(alias="in", max_length=constants.FILES_MAX, description="Files that the pod has before the task begins."),
    ] = ()
    out: Annotated[
        tuple[RunOutput, ...],
        Field(max_length=constants.FILES_MAX, description="Files that are stored after the task succeeded."),
    ] = ()


def input_path(name: str, path: str | None) -> str:
    """Where an input is in the container."""
    return path or f"{constants.FILES_FOLDER}/in/{name}"


def output_path(name: str, path: str | None) -> str:
    """Where an output is in the container."""
    return path or f"{constants.FILES_FOLDER}/out/{name}"
