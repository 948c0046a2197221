"""One file a verb of the command: its options, and the call that it makes and prints.

A verb imports what it needs when it runs, so that `deermem-eval --help` stays quick.
"""

from deermem_eval.verbs import (
    audit,
    drift,
    fetch,
    grade_qa,
    notebooks,
    report,
    run_policy,
    run_qa,
    simulate,
    sweep,
    validate,
    validate_contracts,
    verify,
)

VERBS = (
    validate_contracts,
    fetch,
    validate,
    run_policy,
    sweep,
    run_qa,
    grade_qa,
    verify,
    drift,
    audit,
    simulate,
    notebooks,
    report,
)
"""Modules with `NAME`, `SUMMARY`, `add_options(parser)` and `run(options)` (the exit code)."""

__all__ = ["VERBS"]
