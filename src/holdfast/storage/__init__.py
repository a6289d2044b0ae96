"""Model files: one tree, several, or an ensemble, as JSON that is checked before it is used."""
