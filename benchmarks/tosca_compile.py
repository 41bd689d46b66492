"""How long a large template takes from text to manifests.

    python benchmarks/tosca_compile.py [SERVICES]

The template has the given number of services (5,000 unless told), three channels each with a few circles among them,
functions, inline and named relationships, external services. Reported is the best of three runs: seconds on the clock
per stage, and the CPU time of the whole, which is what remains comparable on a busy machine. The clock must stay under
five seconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from ecotone.tosca import compile_application, emit, graph_of, load_application

LIMIT_SECONDS = 5.0
HEAD = """tosca_definitions_version: tosca_simple_yaml_1_3
imports:
- file: ecotone/profile.yaml
topology_template:
  inputs:
    registry: {type: string, default: example.com}
  relationship_templates:
    fast: {type: gRPCRoute, properties: {deadline: 20 ms}}
  node_templates:
"""


def large_template(services: int) -> str:
    """A template with that many services, every tenth of them external."""
    parts = [HEAD]
    for i in range(services):
        if i % 10 == 9:
            parts.append(
                f"    s{i}: {{type: ExternalService, capabilities: "
                f"{{endpoint: {{properties: {{host: h{i}.example, port: 5432}}}}}}}}\n"
            )
            continue
        targets = ((i * 7 + 1) % services, (i + 1) % services, (i * 3 + 5) % services)
        parts.append(
            f"""    s{i}:
      type: Service
      capabilities:
        metadata: {{properties: {{labels: {{team: t{i % 7}}}}}}}
        deployment:
          properties:
            image: {{concat: [{{get_input: registry}}, "/s{i}:1.0"]}}
            replicas: {1 + i % 3}
            cpu: 100m
            memory: 64Mi
            env: {{NAME: s{i}}}
        service: {{properties: {{port: 80, targetPort: 8080}}}}
      requirements:
      - route: {{node: s{targets[0]}, relationship: HTTPRoute}}
      - route: {{node: s{targets[1]}, relationship: fast}}
      - route: {{node: s{targets[2]}, relationship: {{type: AMQPRoute, properties: {{priority: {i % 50}}}}}}}
"""
        )
    return "".join(parts)


def measure(services: int) -> dict[str, float]:
    """Seconds per stage for one run."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.tosca.yaml"
        path.write_text(large_template(services), encoding="utf-8")
        used = time.process_time()
        begin = time.perf_counter()
        application = load_application(path)
        read = time.perf_counter()
        graph = graph_of(application)
        ordered = time.perf_counter()
        objects = compile_application(application, graph)
        compiled = time.perf_counter()
        text = emit.documents(objects)
        end = time.perf_counter()
        used = time.process_time() - used
    assert len(text) > services * 100
    return {
        "read": read - begin,
        "graph": ordered - read,
        "compile": compiled - ordered,
        "print": end - compiled,
        "total": end - begin,
        "CPU": used,
    }


def main() -> int:
    services = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    best = min((measure(services) for _ in range(3)), key=lambda run: run["total"])
    for stage, seconds in best.items():
        print(f"{stage:8} {seconds:7.3f} s")
    verdict = best["total"] < LIMIT_SECONDS
    print(f"{services} services in {best['total']:.2f} s: {'within' if verdict else 'over'} {LIMIT_SECONDS:g} s")
    return 0 if verdict else 1


if __name__ == "__main__":
    sys.exit(main())
