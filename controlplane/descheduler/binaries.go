//go:build binaries

// Package descheduler pins the upstream descheduler that the test bed's comparison runs beside kube-scheduler.
package descheduler

import _ "sigs.k8s.io/descheduler/cmd/descheduler"
