"""The formats that are files, and how the names of such files end."""

ENDINGS = {
    "python": (".py",),
    "sql": (".sql",),
    "onnx": (".onnx",),
    "pmml": (".pmml",),
    "excel": (".xlsx",),
    "json": (".json",),
    "mermaid": (".mmd", ".mermaid"),
    "dot": (".dot", ".gv"),
}
BINARY = ("onnx", "excel")  # no text for a terminal
