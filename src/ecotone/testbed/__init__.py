"""A real Kubernetes cluster of several nodes on one machine: what the simulator predicts, this shows.

Every node is a set of Linux namespaces with its own containerd, kubelet and kube-proxy, its own cgroup (so that an edge
node is small) and its own address. Between nodes lies a network whose delays, jitter, losses and cuts are chosen pair by
pair and may change while the cluster runs. Why so: docs/design/013-bed-of-namespaces.md. Nodes and network come from the
cluster part of a scenario file, so one file drives the simulator and the test bed.

Everything is started by us, recorded by pid and name in a state directory, and taken down by the same record: `down` works
after a crash too.
"""
