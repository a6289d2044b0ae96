"""The verbs by which a person edits a tree: each gives a new tree, and keeps a record of what was done."""

from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

if TYPE_CHECKING:
    from holdfast.data.table import Table
    from holdfast.tree.editing import TreeEditor
    from holdfast.tree.tree import Tree


class EditInfo(TypedDict, total=False):
    """Author, reason and date that are recorded with an edit."""

    by: str  # who makes it
    why: str
    when: str


class EditMixin:
    """Manual edits of a tree."""

    def edit(
        self,
        table: "Table | None" = None,
        *,
        rules: Any = None,
        keep_values: bool = False,
        **said: Unpack[EditInfo],
    ) -> "TreeEditor":
        """Edit the tree in several steps that share rows, author and reason.

        Each verb below is one of its methods, and `tree` is what came of them. With a `table`, counts and
        weights of all nodes become those of its rows, and values and impurities those below an edited
        question; without one they stay as they are, and a note says so. `keep_values` keeps the values even
        so: those of a teacher, say, which rows alone do not give. The `rules` are growth rules: how
        `grown_at` grows, and how classes are weighted.

        >>> from holdfast import Table, grow
        >>> table = Table.from_arrays([[20.0], [30.0], [50.0], [60.0]], ["no", "no", "yes", "yes"])
        >>> print(grow(table).edit(table, by="Ada", why="the guideline").with_threshold(0, 55).tree)
        4 rows           y    p(yes)  rows  of all
        ├─ x0 <= 55 [1]  no   0.33       3  75.0 %
        └─ x0 > 55 [1]   yes  1.00       1  25.0 %
        [1] x0 <= 40 became x0 <= 55 (Ada: the guideline)
        """
        from holdfast.tree.editing import TreeEditor

        return TreeEditor(cast("Tree", self), table, rules, keep_values, **said)

    def with_threshold(
        self, node: int, threshold: float, table: "Table | None" = None, **said: Unpack[EditInfo]
    ) -> "Tree":
        """Change the threshold of a node; children and the side of missing values stay.

        Without rows, counts and values below the node are those from before, and a note says so.
        """
        return self.edit(table, **said).with_threshold(node, threshold).tree

    def with_categories(
        self, node: int, categories: Any, table: "Table | None" = None, **said: Unpack[EditInfo]
    ) -> "Tree":
        """Change the categories that go left at the node. See `with_threshold`."""
        return self.edit(table, **said).with_categories(node, categories).tree

    def with_question(
        self,
        node: int,
        feature: str | int,
        *,
        threshold: float | None = None,
        categories: Any = None,
        missing_left: bool | None = None,
        table: "Table | None" = None,
        **said: Unpack[EditInfo],
    ) -> "Tree":
        """Change the split at the node, whose children stay. See `with_threshold`.

        Missing values go where they went, unless `missing_left` says otherwise.
        """
        question = {"threshold": threshold, "categories": categories, "missing_left": missing_left}
        return self.edit(table, **said).with_question(node, feature, **question).tree

    def pruned_at(self, node: int, table: "Table | None" = None, **said: Unpack[EditInfo]) -> "Tree":
        """Make the node a leaf with the value it had."""
        return self.edit(table, **said).pruned_at(node).tree

    def grown_at(self, node: int, table: "Table", rules: Any = None, **said: Unpack[EditInfo]) -> "Tree":
        """Replace the node by a subtree grown by the rules on the rows that reach it.

        The rules speak of these rows and of the subtree: max_depth counts from the node.
        """
        return self.edit(table, rules=rules, **said).grown_at(node).tree

    def with_leaf_value(
        self, node: int, value: Any, table: "Table | None" = None, **said: Unpack[EditInfo]
    ) -> "Tree":
        """Set a leaf's value: the probability of the positive class, a mapping, or a number.

        A mapping has the fractions of the classes; of one class, what is left to 1. No later fit to rows
        changes the value.
        """
        return self.edit(table, **said).with_leaf_value(node, value).tree
