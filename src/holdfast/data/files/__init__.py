"""Data files: CSV and Parquet."""
