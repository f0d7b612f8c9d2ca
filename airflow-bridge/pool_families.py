"""Writes `pool/families`: a pool of triggerers for each family of providers, with its image and its memory.

Run `make airflow-families` after a change here, and `make airflow-families-memory` to measure the memory. It imports
nothing but the standard library, so that a test can compare the files with it.
"""

import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "pool/families"
PAGE = HERE.parent / "docs/how-to/use-airflow-providers.md"
BEGIN, END = "<!-- pools of families -->", "<!-- end of pools -->"
_STEP_MIB = 256
_WAITS_MIB = 128
"""What 10,000 waits of a timer take, with some reserve: docs/how-to/use-airflow-providers.md has the figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFamily:
    """Providers that one image has. `memory_mib` is that of a triggerer which has imported their classes."""

    name: str
    providers: str
    memory_mib: int

    @property
    def limit_mib(self) -> int:
        """The limit of memory: twice the imports, and the waits."""
        return _STEP_MIB * math.ceil((2 * self.memory_mib + _WAITS_MIB) / _STEP_MIB)

    @property
    def packages(self) -> str:
        """What the argument PROVIDERS of the image has."""
        return " ".join(f"apache-airflow-providers-{each}" for each in self.providers.split())


_MODULES = {
    "amazon": ("amazon",),
    "common": ("common.messaging", "common.sql", "postgres", "redis", "sftp", "ssh"),
    "databricks": ("databricks",),
    "dbt": ("dbt", "airbyte"),
    "google": ("google",),
    "kubernetes": ("cncf", "apache.livy"),
    "microsoft": ("microsoft",),
    "snowflake": ("snowflake",),
}
"""The packages below `airflow.providers` that a family has beside the standard and the http provider."""
_LOAD = """
import sys
from pathlib import Path
import torpor_airflow
import torpor_triggerer.app
from torpor_airflow.triggers import catalog
loaded = [catalog.load_classes(f"airflow.providers.{name}.**") for name in sys.argv[1:]]
print(next(line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line))
"""
FAMILIES = (
    PoolFamily(name="amazon", providers="amazon[aiobotocore]", memory_mib=244),
    PoolFamily(name="common", providers="common-sql common-messaging postgres redis ssh sftp", memory_mib=225),
    PoolFamily(name="databricks", providers="databricks", memory_mib=158),
    PoolFamily(name="dbt", providers="dbt-cloud airbyte", memory_mib=162),
    PoolFamily(name="google", providers="google", memory_mib=569),
    PoolFamily(name="kubernetes", providers="cncf-kubernetes apache-livy", memory_mib=229),
    PoolFamily(name="microsoft", providers="microsoft-azure", memory_mib=248),
    PoolFamily(name="snowflake", providers="snowflake", memory_mib=162),
)

_KUSTOMIZATION = """\
# Written by airflow-bridge/pool_families.py.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- pool.yaml
components:
- ../../../../manifests/components/pool
patches:
- target: {{kind: Deployment}}
  patch: |-
    - {{op: replace, path: /spec/template/spec/containers/0/resources/limits/memory, value: {limit}Mi}}
"""
_POOL = """\
# Written by airflow-bridge/pool_families.py. The image:
#   docker build -t torpor-airflow-{name}:dev --build-arg PROVIDERS="{packages}" airflow-bridge
apiVersion: torpor.dev/v1alpha1
kind: TriggerPool
metadata:
  name: airflow-{name}
  annotations: {{config.kubernetes.io/local-config: "true"}}
spec:
  image: torpor-airflow-{name}:dev
  triggers: airflow.providers.**=torpor_airflow.triggers.catalog:load_classes
"""


def files() -> Mapping[Path, str]:
    """Return the text of each file by its path."""
    found = {}
    for family in FAMILIES:
        folder = FOLDER / family.name
        found[folder / "kustomization.yaml"] = _KUSTOMIZATION.format(limit=family.limit_mib)
        found[folder / "pool.yaml"] = _POOL.format(name=family.name, packages=family.packages)
    before, _, after = PAGE.read_text().partition(BEGIN)
    rest = after.partition(END)[2]
    return {**found, PAGE: f"{before}{BEGIN}\n\n{table()}\n{END}{rest}"}


def table() -> str:
    """Return the table of the families."""
    rows = [
        f"| `airflow-{each.name}` | `{each.providers}` | {each.memory_mib} MiB | {each.limit_mib} MiB |"
        for each in FAMILIES
    ]
    head = ["| Pool | Providers | Memory after the imports | Limit |", "| --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + "\n"


def measured_mib(family: str) -> int:
    """Return the memory of a triggerer that has imported the classes of a family, in this environment."""
    argv = [sys.executable, "-c", _LOAD, "standard", "http", *_MODULES[family]]
    printed = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    return round(int(printed.split()[-1]) / 1024)  # kB


def main() -> None:
    """Write the files, or print the memory of each family if the argument is `memory`."""
    if sys.argv[1:] == ["memory"]:
        for each in FAMILIES:
            sys.stdout.write(f"{each.name}: {measured_mib(each.name)} MiB\n")
        return
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
