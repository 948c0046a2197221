"""Checks of a run's rows against the decisions that the protocol makes."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from deermem_eval.answers import row_id
from deermem_eval.answers.run_directory import RESPONSES, ROWS, AnswerRow, read_answers
from deermem_eval.grades.checks import Check, Difference, compare, same
from deermem_eval.grades.graded_rows import StoredRun
from deermem_eval.protocol import Protocol
from deermem_eval.selection import CaseDecision

ROW_SCHEMA_VERSION = 1
Fields = Mapping[str, Callable[[CaseDecision], Any]]


KEPT_FIELDS: Fields = {"kept_fact_ids": lambda decision: decision.kept_fact_ids}
SUPPORT_FIELDS: Fields = {
    "support_all_retained": lambda decision: decision.support_retained,
    "support_recall": lambda decision: decision.support_recall,
}


def identity_fields(protocol: Protocol) -> Fields:
    """Return what names a row and says what it is of."""
    return {
        "row_id": row_id,
        "case_id": lambda decision: decision.case.case_id,
        "source": lambda decision: decision.case.source,
        "scenario": lambda decision: decision.case.scenario,
        "question_type": lambda decision: decision.case.question_type,
        "policy": lambda decision: decision.policy,
        "capacity": lambda decision: decision.capacity,
        "schema_version": lambda decision: ROW_SCHEMA_VERSION,
        "grader_version": lambda decision: protocol.config.qa.grader_version,
    }


def rows_complete(decisions: Mapping[str, CaseDecision], run: StoredRun) -> Check:
    """Compare how often each row stands: every row of the protocol once, and no other."""
    counts = Counter(run.order or tuple(run.rows))
    expected = dict.fromkeys(decisions, 1) | dict.fromkeys(counts.keys() - decisions, 0)
    return compare("rows", expected, lambda name: counts.get(name, 0))


def rows_in_order(run: StoredRun) -> Check:
    """Compare the order of the rows with that of their ids, in which they are published."""
    pairs = zip(sorted(run.order), run.order, strict=True)
    return Check(
        "row_order",
        len(run.order),
        tuple(
            Difference(f"row {place}", *pair)
            for place, pair in enumerate(pairs, start=1)
            if pair[0] != pair[1]
        ),
    )


def rows_equal(
    name: str,
    decisions: Mapping[str, CaseDecision],
    run: StoredRun,
    fields: Fields,
) -> Check:
    """Compare fields of every row that is there; a row counts as equal if all of them are."""
    differences = []
    present = [key for key in decisions if key in run.rows]
    for key in present:
        row = run.rows[key]
        wrong = [
            Difference(f"{key} {field}" if len(fields) > 1 else key, expected, getattr(row, field))
            for field, of_decision in fields.items()
            if hasattr(row, field)
            and not same(expected := of_decision(decisions[key]), getattr(row, field))
        ]
        differences += wrong[:1]
    return Check(name, len(present), tuple(differences))


def metadata_consistent(max_attempts: int, run: StoredRun) -> Check:
    """Compare what is not recomputable with itself: attempts, token sums, one model for all rows."""
    models = Counter(row.response_model for row in run.rows.values())
    model = models.most_common(1)[0][0]
    shapes = Counter(frozenset(row.usage or ()) for row in run.rows.values())
    shape = shapes.most_common(1)[0][0]
    differences = []
    for name, row in run.rows.items():
        usage = {key: value or 0 for key, value in (row.usage or {}).items()}
        total = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        cached = [usage.get(f"prompt_cache_{kind}_tokens") for kind in ("hit", "miss")]
        if row.attempts is None or not 1 <= row.attempts <= max_attempts:
            found = Difference(f"{name} attempts", f"1 to {max_attempts}", row.attempts)
        elif row.response_model != model:
            found = Difference(f"{name} response_model", model, row.response_model)
        elif usage.keys() != shape:
            found = Difference(f"{name} usage", tuple(sorted(shape)), tuple(sorted(usage)))
        elif "total_tokens" in usage and usage["total_tokens"] != total:
            found = Difference(f"{name} usage.total_tokens", total, usage["total_tokens"])
        elif None not in cached and sum(filter(None, cached)) != usage.get("prompt_tokens"):
            expected = sum(filter(None, cached))
            found = Difference(f"{name} usage.prompt_tokens", expected, usage.get("prompt_tokens"))
        else:
            continue
        differences.append(found)
    return Check("response_metadata", len(run.rows), tuple(differences))


def answers_equal(run: StoredRun) -> Check:
    """Compare the graded rows with the answers that they were made from."""
    answers = read_answers(run.folder)
    fields = list(AnswerRow.model_fields)
    differences = []
    for name in sorted(run.rows.keys() | answers.keys()):
        row, answer = run.rows.get(name), answers.get(name)
        if row is None or answer is None:
            where = f"{name} ({ROWS if row is None else RESPONSES})"
            differences.append(Difference(where, "a row", "none"))
            continue
        wrong = [field for field in fields if not same(getattr(answer, field), getattr(row, field))]
        differences += [
            Difference(f"{name} {field}", getattr(answer, field), getattr(row, field))
            for field in wrong[:1]
        ]
    return Check("responses", len(run.rows.keys() | answers.keys()), tuple(differences))
