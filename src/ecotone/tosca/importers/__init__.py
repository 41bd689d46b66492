"""Starting points: service templates drafted from what already exists.

Nobody should have to type in an application that a docker-compose file, a set of manifests or a running cluster already
describes. Importers gather a `Draft` and write it as a template to edit; what had to be guessed is marked in a comment.
"""

from ecotone.tosca.importers.compose import import_compose
from ecotone.tosca.importers.draft import Draft, DraftChannel, DraftService
from ecotone.tosca.importers.kubernetes import import_manifests
from ecotone.tosca.importers.observed import import_observed

__all__ = ["Draft", "DraftChannel", "DraftService", "import_compose", "import_manifests", "import_observed"]
