//go:build tools

// Package tools names Helm, which renders and installs the chart in the tests, so that go.mod and go.sum keep its version.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
