"""Creates a real Kubernetes on any machine: a kind cluster, or processes.

Uses only the standard library, because tests and the demo need it before anything is installed.
Must not import other packages of this repository, and must not change ~/.kube.
"""
