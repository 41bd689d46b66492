"""KubeDSM (Pashaeehir et al., 2024): batch placement with migration on a cloud-assisted edge.

The edge is small and near, the cloud large and far, and each service is promised a quality. New pods are placed as a batch
(`immediate`), and periodically a suggestion (`suggest`) moves pods from the cloud to the edge, to the cloud to make room, and
between edge nodes against fragmentation. The draft of December 2024 is the reference; where the later version (arXiv
2501.07130) or the public code differ and the difference matters, theirs is an option.

What differs from the paper, and why:

* **State.** Pods of a service are interchangeable, so the state counts them per service and node instead of naming them.
  Subsets of pods become vectors of counts. The answers are the same (property tests compare with single pods).
* **QoS** (section 4.2). Promised is a share of pods on the edge, Q = t_C - share (t_C - t_E), which makes Delta(i) the missing
  share times t_C - t_E. `quality.Relu` is the reference, `quality.Linear` the later version's alpha, beta and gamma,
  `quality.Jump` the public code's.
* **theta** counts existing pods only. Read literally, a new pod that is bound to the edge is a migration.
* **Algorithm 2, line 9** admits only pods that fit the free capacity of the edge, so that Algorithm 5 never has anything to
  free and no pod ever leaves the edge. The line is dropped; a pod must fit some edge node if that were empty.
* **Algorithm 3, line 17** is inverted (it keeps the worse decision). A decision is kept only if it is strictly better than the
  best so far; the first is to leave everything in the cloud.
* **Algorithm 3, lines 4 and 13** test sums over all edge nodes. Algorithm 7 then sends what does not fit a node to the cloud.
  Here a decision is judged after `match`, so what is judged is what will be.
* **Ties** in Algorithm 3: at equal QoS more of the *new* pods on the edge, then fewer migrations, then less fragmentation; so
  nothing that runs is moved without a gain in QoS. Reorderings are taken only if the decision needs them.
* **Algorithm 4** reorders for fragmentation alone. Here a reordering is tried beside none, and the better one kept.
* **Algorithm 5**, ties in score: the pod whose leaving costs least fragmentation. The cloud must have room for what is freed.
* **Algorithm 6** could "reduce" fragmentation by sending unmatched pods to the cloud: only moves between edge nodes count.
  `|comb| <= MAX` as in the text, not `<` as in the listing. With more than 50,000 combinations the moves are chosen one after
  the other. A set of moves is taken only if there is an order in which every step fits.
* **Algorithm 8** tests no feasibility; equation 6 has `node - cur` where equation 5 has `node + cur` (the latter is right).
* **frag** is defined in neither version. `fragmentation.packed` is what the public code computes, -prod(used/capacity) and -0.1
  for an empty node; `fragmentation.unused` is what the authors report, 1 - prod(used/capacity).
* **size** has the square root of equation 2 (the public code lacks it); M is the largest edge node's, per resource.
* **The last running pod** of a service is not moved (the public code's rule; the paper says nothing). A decision may move all
  pods of a service; whoever carries it out moves them one after the other.
* **Several cloud nodes**, and cloud nodes with limits: a pod for the cloud goes to the one with most room, or waits.
* **Checkpointing** is claimed in the paper's table 5 and is in neither version's text nor in the code. A migration here is a
  replacement; where the replacement can be started first (make before break) that is the executor's answer.
"""

from ecotone.placement.kubedsm.algorithms.decision import Decision
from ecotone.placement.kubedsm.algorithms.immediate import immediate_schedule
from ecotone.placement.kubedsm.algorithms.suggest import suggest
from ecotone.placement.kubedsm.cluster import Cluster, Node, Service
from ecotone.placement.kubedsm.parameters import Parameters

__all__ = ["Cluster", "Decision", "Node", "Parameters", "Service", "immediate_schedule", "suggest"]
