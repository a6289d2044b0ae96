"""The commands: one file each, which imports what it needs when the command runs."""
