//go:build tools

// Package tools names Vale, which checks the language of the documentation, so that go.mod and go.sum keep its version.
package tools

import _ "github.com/vale-cli/vale/v3/cmd/vale"
