//go:build tools

// Package kwok pins what the testbed builds; nothing here is compiled by itself.
package kwok

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
