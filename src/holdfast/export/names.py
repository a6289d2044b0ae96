"""The formats that are files, and how the names of such files end."""

ENDINGS = {
    "python": (".py",),
    "sql": (".sql",),
    "json": (".json",),
    "mermaid": (".mmd", ".mermaid"),
    "dot": (".dot", ".gv"),
}
BINARY: tuple[str, ...] = ()  # no text for a terminal
