"""The code of a python task: how the runtime gets into its pod, and files that are not in its image."""

from typing import Annotated

from pydantic import Field

from torpor_crds.models.base import Model, ObjectName


class CodeSource(Model):
    """Python files that are not in the image."""

    config_map: Annotated[
        ObjectName,
        Field(description="Name of a ConfigMap of the namespace. Each key is a file, such as `load.py`."),
    ]
