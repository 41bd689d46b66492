"""Scheduler configurations: profiles as YAML, read with positions and written back."""

from ecotone.manifests.configuration.profile_reader import parse_configuration, read_configuration
from ecotone.manifests.configuration.profile_writer import configuration_document

__all__ = ["configuration_document", "parse_configuration", "read_configuration"]
