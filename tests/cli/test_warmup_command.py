"""`holdfast warmup`: after it no model has anything to compile."""

from command_line import holdfast

from holdfast.runs.compile import prepare_kernels


def test_what_was_warmed_up_is_on_disk_and_the_command_says_where() -> None:
    prepare_kernels()
    result = holdfast("warmup")
    assert result.exit_code == 0, result.output
    assert " in " in result.output.splitlines()[0]
    assert "kernels" in result.output.lower()


def test_the_help_says_what_it_is_for() -> None:
    assert "images and clusters" in " ".join(holdfast("warmup", "--help").output.split())
