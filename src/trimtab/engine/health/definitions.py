"""Health of what brings new kinds: CustomResourceDefinition and APIService. Pure."""

from __future__ import annotations

from trimtab.engine.health.serving import Conditioned
from trimtab.engine.health.values import Health, degraded, healthy, progressing


def custom_resource_definition(view: Conditioned) -> Health:
    """Established, and nothing wrong with its names and schema."""
    found = {line.type: line for line in view.lines}
    if "Terminating" in found and found["Terminating"].is_true:
        return progressing("The definition is being removed")
    if not found:
        return progressing("Waiting for the server to report")
    names, schema = found.get("NamesAccepted"), found.get("NonStructuralSchema")
    if names is not None and names.status == "False":
        return degraded(f"Its names are not accepted: {names.message or names.reason or ''}")
    if schema is not None and schema.is_true:
        return degraded(f"Its schema is not structural: {schema.message or schema.reason or ''}")
    established = found.get("Established")
    if established is not None and established.is_true:
        return healthy()
    if established is not None and established.reason == "Installing":
        return progressing("The definition is being installed")
    return degraded("The definition is not established")


def api_service(view: Conditioned) -> Health:
    """Available or not yet."""
    for line in view.lines:
        if line.type == "Available":
            return healthy(line.told) if line.is_true else progressing(line.told)
    return progressing("Waiting for the API to become available")
