"""From a file or a frame to a run: hold-out, fit, facts, and a folder."""
