//go:build binaries

// Package kwok pins the fake kubelet that keeps nodes ready and pods running.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
