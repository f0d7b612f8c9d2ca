//go:build tools

// Package tools names actionlint, which checks the workflows of .github, so that go.mod and go.sum keep its version.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
