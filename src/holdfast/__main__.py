"""`python -m holdfast` is the command line."""

from holdfast.cli.start import run

if __name__ == "__main__":
    run()
