"""The kubelet that tests and benchmarks share; each says what a container does.

`api_kubelet` imitates a kubelet over a real API server, and `log_server` its endpoint for logs. The status of a pod
comes from `torpor_local.pods.status`, as in the simulation and in local runs.
"""
