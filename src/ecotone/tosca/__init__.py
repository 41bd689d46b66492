"""TOSCA service templates: describe an application's communication, get manifests that place well."""
