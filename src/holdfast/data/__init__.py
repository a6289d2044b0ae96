"""Data: tables and schemas, and the reading and writing of files."""
