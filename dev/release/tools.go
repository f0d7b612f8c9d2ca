//go:build tools

// Package tools names the programs of a release, so that go.mod and go.sum keep their versions: crane copies images
// and serves a registry for the tests, and cosign signs images and verifies signatures.
package tools

import (
	_ "github.com/google/go-containerregistry/cmd/crane"
	_ "github.com/sigstore/cosign/v3/cmd/cosign"
)
