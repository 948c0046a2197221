"""The distractor bank: records of other question types than the cases, and who gets which."""

import hashlib
from collections.abc import Sequence

from deermem_eval.cases.records import Record
from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol.config import Pool
from deermem_eval.protocol.details import HISTORICAL, Details


def build_bank(
    records: Sequence[Record], pool: Pool, details: Details = HISTORICAL
) -> tuple[Record, ...]:
    """Return the first `distractor_bank_size` eligible records in the order of their ids.

    Eligible are records of the pool's `distractor_types` whose rendered evidence, headers
    included, has an accepted length. The rendering thus decides membership (PR #4810).

    Parameters
    ----------
    records : sequence of Record
        In any order.
    pool : Pool
        Types, bounds in characters (both included), and size of the bank.
    details : Details
        `bank_order`.

    Raises
    ------
    DeermemEvalError
        Fewer records are eligible than the bank holds.
    """
    eligible = sorted(
        (
            record
            for record in records
            if record.question_type in pool.distractor_types
            and pool.distractor_min_evidence_chars
            <= record.evidence_chars
            <= pool.distractor_max_evidence_chars
        ),
        key=lambda record: record.question_id,
        reverse=details.bank_order == "question-id descending",
    )
    if len(eligible) < pool.distractor_bank_size:
        raise DeermemEvalError(
            f"{len(eligible)} records are eligible for the distractor bank of "
            f"{pool.distractor_bank_size}; use the whole data set"
        )
    return tuple(eligible[: pool.distractor_bank_size])


def bank_offset(case_id: str, pool: Pool, details: Details = HISTORICAL) -> int:
    """Return the bank index of a case's first distractor, in 0..bank size - 1.

    The first four bytes of SHA-256(`namespace:case_id`), big-endian, modulo the bank size; other
    details take other bytes, or leave room at the end of the bank.
    """
    digest = hashlib.sha256(f"{pool.offset_namespace}:{case_id}".encode()).digest()
    room = 0 if details.wraps_around else pool.distractors - 1
    places = pool.distractor_bank_size - room
    return int.from_bytes(digest[: details.offset_bytes], "big") % places


def draw_distractors(
    case_id: str, bank: Sequence[Record], pool: Pool, details: Details = HISTORICAL
) -> tuple[Record, ...]:
    """Return the case's consecutive distractors, wrapping around at the end of the bank."""
    offset = bank_offset(case_id, pool, details)
    return tuple(bank[(offset + i) % len(bank)] for i in range(pool.distractors))
