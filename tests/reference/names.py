"""The order in which features win ties: by name, numbers in it as numbers, questions last."""

import re

from holdfast.data.schema import Schema


def by_name(schema: Schema) -> list[int]:
    """The features of the schema in that order."""

    def key(index: int) -> tuple[bool, str]:
        feature = schema.features[index]
        padded = re.sub(r"\d+", lambda digits: digits[0].zfill(20), feature.name)
        return feature.kind == "custom", padded

    return sorted(range(len(schema.features)), key=key)
