"""The public names of the package that are not in `holdfast` itself."""

from holdfast.tree.build import Node as Node
from holdfast.tree.edit import Edit as Edit
from holdfast.tree.edit import edited_nodes as edited_nodes
from holdfast.tree.rules import tree_rules as tree_rules
from holdfast.tree.stats import class_counts as class_counts
from holdfast.tree.stats import positive_class as positive_class
