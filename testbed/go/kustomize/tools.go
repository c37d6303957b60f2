//go:build tools

// Package kustomize pins what the testbed builds; nothing here is compiled by itself.
package kustomize

import (
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
