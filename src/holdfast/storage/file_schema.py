"""The JSON Schema of the model file: for programs that read or check one without holdfast."""

from typing import Any, get_args

import msgspec

from holdfast.storage.document import FORMS, Document

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def model_file_schema() -> dict[str, Any]:
    """The JSON Schema of a model file: of a tree, several trees, an ensemble, or an estimator of one.

    >>> schema = model_file_schema()
    >>> [part["$ref"].rpartition("/")[2] for part in schema["anyOf"]]
    ['TreeDocument', 'TreesDocument', 'EnsembleDocument']
    """
    documents, parts = msgspec.json.schema_components(get_args(Document), ref_template="#/$defs/{name}")
    for part in parts.values():
        for name, entry in part.get("properties", {}).items():
            if name in FORMS and _is_raw(entry):
                part["properties"][name] = {"type": "array", "items": _entry_schema(FORMS[name].entry)}
    return {"$schema": DIALECT, "title": "A model file of holdfast", "anyOf": list(documents), "$defs": parts}


def _is_raw(entry: dict[str, Any]) -> bool:
    """True of an array that is kept as text, of which msgspec cannot tell what it holds."""
    return not {"type", "anyOf", "$ref", "enum"} & set(entry)


def _entry_schema(entry: Any) -> dict[str, Any]:
    return msgspec.json.schema(entry)
