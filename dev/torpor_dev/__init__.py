"""A real Kubernetes on any machine: a kind cluster, or etcd and an API server as plain processes.

Tests and the demo need it before anything is installed, hence the standard library only.
Must not import any other package of this repository, nor touch ~/.kube.
"""
