"""One file a verb of the command: its options, and the call that it makes and prints.

A verb imports what it needs when it runs, so that `deermem-eval --help` stays quick.
"""

from deermem_eval.verbs import notebooks, report, run_policy, validate, validate_contracts

VERBS = (validate_contracts, validate, run_policy, notebooks, report)
"""Modules with `NAME`, `SUMMARY`, `add_options(parser)` and `run(options)` (the exit code)."""

__all__ = ["VERBS"]
