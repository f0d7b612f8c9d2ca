//go:build tools

// Package tools names the programs that are built as they are, so that go.mod keeps their versions.
package tools

import (
	_ "github.com/rancher/local-path-provisioner"
	_ "k8s.io/kubernetes/cmd/kubeadm"
)
