//go:build tools

// Package helm pins what the testbed builds; nothing here is compiled by itself.
package helm

import (
	_ "helm.sh/helm/v4/cmd/helm"
)
