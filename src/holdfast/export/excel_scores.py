"""The formulas of the sheet that scores: what is read, a walk through each tree, sums, and the link."""

from collections.abc import Iterator

from holdfast.export.plain_model import PlainModel

SUMMED = 40  # trees in one formula, which has room for 8,192 letters
# Of one sheet: LibreOffice computes about 6,000 a second, and holds 127,000 in 860 MB.
MOST_FORMULAS = 150_000


class ScoreSheet:
    """The columns of the sheet "Score" in order."""

    def __init__(self, plain: PlainModel) -> None:
        self.plain = plain
        self.depths = [max(tree.depth, 1) for tree in plain.trees]
        self.is_alone = plain.link is None
        self.n_nodes = sum(len(tree.nodes) for tree in plain.trees)
        self.n_inputs = len(plain.columns)
        self.n_sums = 0 if self.is_alone else -(-len(plain.trees) // SUMMED)
        self.set_sizes = [len(split.feature.categories) for split in plain.splits if split.in_yes is not None]

    @property
    def n_values(self) -> int:
        """Number of values that leaves add to."""
        leaf = next(iter(self.plain.trees[0].leaves.values()))
        return len(leaf.values) if self.is_alone else self.plain.n_outputs

    @property
    def titles(self) -> list[str]:
        """Titles of all columns."""
        names = [feature.name for feature in self.plain.columns]
        walks = [f"tree {t} level {k + 1}" for t, depth in enumerate(self.depths) for k in range(depth)]
        sums = [f"sum {s + 1} of {v + 1}" for s in range(self.n_sums) for v in range(self.n_values)]
        return [*names, *(f"read {name}" for name in names), *walks, *sums, *self._result_titles()]

    def _result_titles(self) -> list[str]:
        classes = self.plain.target.classes
        return [*(f"p({label})" for label in classes), "prediction"]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.titles)

    @property
    def most_rows(self) -> int:
        """Number of rows that one sheet can compute."""
        return MOST_FORMULAS // (self.n_columns - self.n_inputs)

    @property
    def first_result(self) -> int:
        """Number of the first column with a probability, or of the prediction."""
        return self.n_columns - len(self.plain.target.classes)

    # -- formulas ---------------------------------------------------------------------------------------

    def formulas(self, row: int) -> Iterator[str]:
        """Return the formulas of a row after its inputs."""
        for place in range(self.n_inputs):
            yield f"={self._read(place, row)}"
        column, root, leaves = 2 * self.n_inputs + 1, 1, []
        for tree, depth in zip(self.plain.trees, self.depths, strict=True):
            before = str(root)
            for _ in range(depth):
                yield f"={self._step(before, row)}"
                before, column = f"${_letters(column)}{row}", column + 1
            leaves.append(before)
            root += len(tree.nodes)
        if self.is_alone:
            yield from self._alone(leaves[0], row)
            return
        scores = [repr(each) for each in self.plain.start]
        for begin in range(0, len(leaves), SUMMED):
            part = leaves[begin : begin + SUMMED]
            for place, score in enumerate(scores):
                yield "=" + "+".join([score, *(self._value(leaf, place) for leaf in part)])
            scores = [f"${_letters(column + place)}{row}" for place in range(len(scores))]
            column += len(scores)
        yield from self._linked(scores, column, row)

    def _read(self, place: int, row: int) -> str:
        cell, feature = f"${_letters(place + 1)}{row}", self.plain.columns[place]
        if not feature.categories:
            return f'IF(ISNUMBER({cell}),{cell},"")'
        n = len(feature.categories)
        if all(isinstance(label, bool) for label in feature.categories):  # EXACT is for text
            places = {label: number for number, label in enumerate(feature.categories, 1)}
            yes, no = places.get(True, n + 1), places.get(False, n + 1)
            return f"IF(ISLOGICAL({cell}),IF({cell},{yes},{no}),{n + 1})"
        letters = _letters(place + 1)
        labels = f"Categories!${letters}$2:${letters}${n + 1}"
        found = f"SUMPRODUCT(EXACT({cell},{labels})*(ROW({labels})-1))"
        return f'IF({cell}="",{n + 1},IF({found}=0,{n + 1},{found}))'

    def _node(self, letter: str, at: str) -> str:
        return f"INDEX(Nodes!${letter}$2:${letter}${self.n_nodes + 1},{at})"

    def _step(self, at: str, row: int) -> str:
        """Return the node that follows this one; a leaf follows itself."""
        if not self.n_inputs:
            return at
        read = f"${_letters(self.n_inputs + 1)}{row}:${_letters(2 * self.n_inputs)}{row}"
        asks, x = self._node("C", at), f"INDEX({read},1,{self._node('D', at)})"
        is_less = f'IF({x}="",{self._node("I", at)}=1,IF({asks}=2,TRUE,{x}<={self._node("E", at)}))'
        answer = is_less
        if self.set_sizes:
            answer = f"IF({asks}=3,{self._set_flag(at, x)}=1,{is_less})"
        return f"IF({asks}=0,{at},IF({answer},{self._node('G', at)},{self._node('H', at)}))"

    def _set_flag(self, at: str, x: str) -> str:
        last = _letters(max(self.set_sizes) + 1)
        return f"INDEX(Sets!$A$1:${last}${len(self.set_sizes)},{self._node('F', at)},{x})"

    def _value(self, leaf: str, place: int) -> str:
        return self._node(_letters(11 + place), leaf)

    def _alone(self, leaf: str, row: int) -> Iterator[str]:
        values = [self._value(leaf, place) for place in range(self.n_values)]
        if not self.plain.target.is_classes:
            yield f"={values[0]}"
            return
        yield from (f"={value}" for value in values)
        yield f"={self._node('J', leaf)}"

    def _linked(self, scores: list[str], column: int, row: int) -> Iterator[str]:
        values = self._values(scores)
        if not self.plain.target.is_classes:
            yield f"={values[0]}"
            return
        yield from (f"={value}" for value in values)
        cells = f"${_letters(column)}{row}:${_letters(column + len(values) - 1)}{row}"
        yield f"=INDEX(Classes!$A$1:$A${len(values)},MATCH(MAX({cells}),{cells},0))"

    def _values(self, scores: list[str]) -> list[str]:
        first = scores[0]
        match self.plain.link:
            case "mean":
                return [f"{score}/{self.plain.total_weight!r}" for score in scores]
            case "exp":
                return [f"EXP(MIN({first},709))"]
            case "softmax":
                every = f"{first}:{scores[-1]}"
                total = f"SUMPRODUCT(EXP({every}-MAX({every})))"
                return [f"EXP({score}-MAX({every}))/{total}" for score in scores]
            case "logistic":
                return [f"1/(1+EXP(MIN({sign}{first},709)))" for sign in ("", "-")]
            case "double_logistic":
                return [f"1/(1+EXP(MIN({sign}2*{first},709)))" for sign in ("", "-")]
            case _:
                return scores


def _letters(column: int) -> str:
    """Return the letters of a column by its number from 1 on.

    >>> _letters(1), _letters(28)
    ('A', 'AB')
    """
    from openpyxl.utils import get_column_letter

    letters: str = get_column_letter(column)
    return letters
