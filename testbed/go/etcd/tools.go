//go:build tools

// Package etcd pins what the testbed builds; nothing here is compiled by itself.
package etcd

import (
	_ "go.etcd.io/etcd/server/v3"
)
