"""What a node costs the requests of a workload: who talks to whom, how far apart they are, and what their owners wish.

`peers` and `channels` say who a pod talks to and how often, `lookahead` where a peer will be that has no node yet, and
`cost` adds it all up in milliseconds. Scheduler, descheduler and plans ask here, so that they agree.
"""
