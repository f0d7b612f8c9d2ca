//go:build tools

// Package tools names krew, with which a test installs the plugin, so that go.mod and go.sum keep its version.
package tools

import _ "sigs.k8s.io/krew/cmd/krew"
