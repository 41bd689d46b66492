//go:build binaries

// Package helm pins the Helm that the chart is held against.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
