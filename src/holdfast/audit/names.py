"""The names of methods and changes, for all who list them: the module is light, and `--help` waits for it."""

from holdfast.stability.selection import METHODS

# Of these, stable trees are there if this version has the method that makes them.
_STABLE = {
    "paper": "paper",
    "centred": "centred",
    "centred-12": "centred",
    "centred-8": "centred",
    "updated": "centred",
    "bootstrap": "bootstrap",
}
_SOLVED = ("optimal", "near-optimal", "near-optimal-nearest")  # by libraries that may not be installed
_TREES = (
    "cart-cv",
    "pruned-1se",
    "c4.5",
    "paper",
    "centred",
    "centred-12",
    "centred-8",
    "updated",
    "bootstrap",
)
_EVERY = (*_TREES, "forest", *_SOLVED)

METHOD_NAMES = tuple(name for name in _EVERY if name not in _STABLE or _STABLE[name] in METHODS)
LARGE_CHANGES = ("overlap", "staged")
SMALL_CHANGES = ("fewer rows", "another seed", "noise column", "columns permuted", "last digit")
CHANGE_NAMES = (*LARGE_CHANGES, *SMALL_CHANGES)
