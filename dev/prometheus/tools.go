//go:build tools

// Package tools names promtool, with which the tests evaluate the alert rules, so that go.mod and go.sum keep its version.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
