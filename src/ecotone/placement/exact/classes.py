"""Applications that are the same application, and components that are the same component.

Two applications whose queues, microservices and bounds agree are interchangeable, and so are two equal microservices
of one application. An exact model that counts them instead of naming them has no symmetry to fight with, which is the
difference between seconds and never.
"""

from collections import Counter
from dataclasses import dataclass, replace

from ecotone.placement.problem.instance import Component, Instance, QueueApplication


@dataclass(frozen=True)
class ApplicationClass:
    application: QueueApplication
    members: tuple[int, ...]
    components: tuple[tuple[Component, int], ...]

    @property
    def size(self) -> int:
        return len(self.members)

    def positions(self, instance: Instance, a: int) -> list[list[int]]:
        """For member a: per component class, the positions of its microservices."""
        places: dict[Component, list[int]] = {component: [] for component, _ in self.components}
        for i, component in enumerate(instance.applications[a].microservices, start=1):
            places[nameless(component)].append(i)
        return [places[component] for component, _ in self.components]


def nameless(component: Component) -> Component:
    return replace(component, name="")


def application_classes(instance: Instance) -> list[ApplicationClass]:
    groups: dict[tuple[object, ...], list[int]] = {}
    for a, application in enumerate(instance.applications):
        parts = frozenset(Counter(nameless(c) for c in application.microservices).items())
        groups.setdefault((nameless(application.queue), parts, application.max_delay_ms), []).append(a)
    classes = []
    for members in groups.values():
        first = instance.applications[members[0]]
        counts = Counter(nameless(c) for c in first.microservices)
        classes.append(ApplicationClass(application=first, members=tuple(members), components=tuple(counts.items())))
    return classes
