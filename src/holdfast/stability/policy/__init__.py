"""The change policy: what an update may change, written down before it, and judged line by line after it."""
