"""What a cluster, its applications and a decision are: values only, no clock, no files, no sockets."""
