//go:build tools

// Package tools names the program that is built as it is, so that go.mod keeps its version.
package tools

import _ "go.etcd.io/etcd/etcdutl/v3"
