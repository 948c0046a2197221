"""What the tests of the command line share."""

import pytest

from deermem_eval.cli import main


@pytest.fixture
def command(capsys):
    """Run the command; return exit code, stdout and stderr."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command
