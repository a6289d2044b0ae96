"""A small file of patients, and the command line on it, as the tests of the commands have them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))
from command_line import fit, holdfast, write_patients

PLAIN = ("--drop", "year", "--drop", "patient", "--drop", "weight")
__all__ = ["PLAIN", "fit", "holdfast", "write_patients"]
