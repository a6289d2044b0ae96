"""The version, and the name of the distribution: `holdfast` on the package index is another project."""

__version__ = "0.1.0"
DISTRIBUTION = "holdfast-trees"


def install_command(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_command("dask")
    'pip install "holdfast-trees[dask]"'
    """
    return f'pip install "{DISTRIBUTION}[{extra}]"'
