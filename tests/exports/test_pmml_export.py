"""PMML: its structure, and the texts that XML has not."""

from xml.etree import ElementTree

import pandas as pd
import pytest
from exported_models import SITE, model

from holdfast import Table, grow
from holdfast.errors import ExportError
from holdfast.exports import to_pmml

PMML = "{http://www.dmg.org/PMML-4_4}"


def test_every_split_says_where_missing_values_go() -> None:
    root = ElementTree.fromstring(to_pmml(model("deep tree")))
    tree = root.find(f"{PMML}TreeModel")
    assert tree is not None
    assert tree.get("missingValueStrategy") == "defaultChild"
    for node in tree.iter(f"{PMML}Node"):
        children = [child.get("id") for child in node.findall(f"{PMML}Node")]
        assert len(children) in (0, 2)
        assert node.get("defaultChild") in (children or [None])


def test_categories_are_never_compared_by_order() -> None:
    root = ElementTree.fromstring(to_pmml(model("boosted four")))
    numeric = {
        each.get("name") for each in root.iter(f"{PMML}DataField") if each.get("optype") == "continuous"
    }
    for predicate in root.iter(f"{PMML}SimplePredicate"):
        if predicate.get("operator") in ("lessOrEqual", "greaterThan"):
            assert predicate.get("field") in numeric
    used = {each.get("name"): each for each in root.iter(f"{PMML}MiningField")}
    assert used["grade"].get("invalidValueTreatment") == "asMissing"


def test_awkward_names_come_back_from_xml() -> None:
    root = ElementTree.fromstring(to_pmml(model("deep tree")))
    assert SITE in {each.get("name") for each in root.iter(f"{PMML}DataField")}


def test_a_text_that_xml_has_not_is_refused() -> None:
    frame = pd.DataFrame({"site": ["a\x01", "b"] * 5})
    with pytest.raises(ExportError, match=r"PMML has no field and no value 'a\\x01'"):
        to_pmml(grow(Table.from_arrays(frame, ["x", "y"] * 5)))


def test_labels_of_several_types_are_refused() -> None:
    frame = pd.DataFrame({"site": ["a", 1] * 5})
    with pytest.raises(ExportError, match="'site' are of several types"):
        to_pmml(grow(Table.from_arrays(frame, ["x", "y"] * 5)))
