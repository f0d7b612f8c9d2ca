"""`python -m benchmarks.triggerer.pod`: the shipped triggerer as its pod starts it, on a machine that is no pod.

All that differs is where the service account's folder is: TORPOR_BENCH_ACCOUNT names it. A kubeconfig instead would
load a client library that pods do not load, and its 50 MB would be counted.
"""

import os
import runpy
import sys
from pathlib import Path

from torpor_kubernetes.client import http

if __name__ == "__main__":
    http.SERVICE_ACCOUNT = Path(os.environ["TORPOR_BENCH_ACCOUNT"])
    sys.argv[0] = "torpor_triggerer"
    runpy.run_module("torpor_triggerer", run_name="__main__", alter_sys=True)
