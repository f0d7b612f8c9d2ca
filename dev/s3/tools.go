//go:build tools

// Package tools names the S3-compatible server that the tests start, so that go.mod and go.sum keep its version. A
// module of its own: another version of it must not make Kubernetes be built anew.
package tools

import _ "github.com/versity/versitygw/cmd/versitygw"
