"""The command `deermem-eval`: parsing and printing; every verb is a call that a notebook can make.

Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 done and something does
not hold, 2 refused, 130 interrupted.
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from deermem_eval import __version__
from deermem_eval.errors import DeermemEvalError
from deermem_eval.verbs import VERBS
from deermem_eval.verbs.options import say


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, like every other refusal."""

    def error(self, message: str) -> NoReturn:
        raise DeermemEvalError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process if not given.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a path may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        options = _parser().parse_args(arguments)
        code = int(options.run(options))
        sys.stdout.flush()
    except DeermemEvalError as error:
        say(f"deermem-eval: {error}")
        return 2
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process ends; one is enough
        say("deermem-eval: interrupted")
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a path that cannot even be looked at
        say(f"deermem-eval: {error.filename or 'file system'}: {error.strerror}; check the path")
        return 2
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="deermem-eval",
        description="What should an agent's bounded memory forget? Policies, cases, statistics.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"deermem-eval {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    for verb in VERBS:
        of_verb = verbs.add_parser(
            verb.NAME,
            help=verb.SUMMARY,
            description=f"{verb.SUMMARY[:1].upper()}{verb.SUMMARY[1:]}.",
            allow_abbrev=False,
        )
        verb.add_options(of_verb)
        of_verb.set_defaults(run=verb.run)
    return parser
