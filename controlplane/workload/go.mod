module ecotone.dev/controlplane/workload

go 1.26.0
