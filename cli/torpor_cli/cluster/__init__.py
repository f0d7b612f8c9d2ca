"""The client of the API server: kubeconfig, credentials, requests, lists and watches."""
