"""Variants: a protocol with one or more of its details changed, by name.

A variant changes settings of the one pipeline and nothing else, so that what it gives is what the
protocol would have given.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any

from deermem_eval.errors import DeermemEvalError
from deermem_eval.protocol import Protocol
from deermem_eval.protocol.details import Details

HISTORICAL_NAME = "historical"
BRACKET_HEADER = "[session_id={session_id} date={date}]"
DETAIL_NAMES = frozenset(field.name for field in fields(Details))


@dataclass(frozen=True)
class Variant:
    """A named change of a protocol.

    Attributes
    ----------
    name : str
    changes : mapping of str to object
        New values by setting: a field of `Details`, or a dotted key of the config (`qa.model`).
        A `timedelta` is added to the value that is there.
    says : str
        What is otherwise, in words.
    """

    name: str
    changes: Mapping[str, Any]
    says: str

    @property
    def is_single(self) -> bool:
        """Whether it changes one detail."""
        return len({key.rpartition(".")[0] or key for key in self.changes}) == 1


def _catalogue() -> dict[str, Variant]:
    hybrid = "policies.hybrid_v1"
    variants = [
        Variant(
            "bracket-header", {"session_header": BRACKET_HEADER}, "session headers in brackets"
        ),
        Variant("session-newline", {"session_separator": "\n"}, "no blank line between sessions"),
        Variant("title-role", {"role_case": "title"}, "User: for USER:"),
        Variant("no-fallback", {"evidence_fallback": "none"}, "unmarked sessions give nothing"),
        Variant(
            "all-turns", {"evidence_fallback": "all turns"}, "unmarked sessions give all turns"
        ),
        Variant("bank-max", {"pool.distractor_max_evidence_chars": 600}, "bank to 600 characters"),
        Variant(
            "bank-min", {"pool.distractor_min_evidence_chars": 150}, "bank from 150 characters"
        ),
        Variant("bank-order", {"bank_order": "question-id descending"}, "bank from the last id"),
        Variant("bank-size", {"pool.distractor_bank_size": 39}, "a bank of 39"),
        Variant(
            "offset-namespace", {"pool.offset_namespace": "another"}, "another offset namespace"
        ),
        Variant("offset-bytes", {"offset_bytes": 8}, "offsets from eight bytes"),
        Variant("no-wrap-around", {"wraps_around": False}, "draws end at the bank's end"),
        Variant("raw-ids", {"fact_ids": "raw"}, "facts under the ids of their records"),
        Variant("draw-order", {"pool.fact_order": "draw"}, "pools in the order of the draw"),
        Variant("loss-rank-order", {"loss_rank_order": "id"}, "loss ranks dealt by id"),
        Variant("confidence-step", {"confidence_step": 0.01}, "confidence falls by 0.01"),
        Variant("parity", {"confirmed_parity": 0}, "even noisy distractors confirmed"),
        Variant("clock", {"evaluation_time": timedelta(days=30)}, "evaluated 30 days later"),
        Variant(
            "confirmation-half-life",
            {f"{hybrid}.confirmation_half_life_days": 30.0},
            "confirmations halve in 30 days",
        ),
        Variant(
            "access-half-life", {f"{hybrid}.access_half_life_days": 90.0}, "heat halves in 90 days"
        ),
        Variant(
            "weights",
            {f"{hybrid}.weights.confidence": 0.75, f"{hybrid}.weights.confirmation": 0.15},
            "weights 0.75, 0.15, 0.10",
        ),
        Variant("no-reserve", {f"{hybrid}.correction_reserved_max": 0}, "no correction reserve"),
        Variant("tie-break", {"tie_break": "reversed input"}, "the last of equal scores first"),
        Variant("memory-order", {"memory_order": "score"}, "kept facts by score"),
        Variant("single-newline", {"fact_separator": "\n"}, "no blank line between facts"),
        Variant("no-current-date", {"has_current_date": False}, "no CURRENT DATE line"),
        Variant("trailing-newline", {"has_trailing_newline": True}, "a newline at the end"),
        Variant("crlf", {"line_ends": "\r\n"}, "line ends CR LF"),
        Variant("nfd", {"unicode_form": "NFD"}, "letters and accents apart (NFD)"),
        Variant("model", {"qa.model": "another-model"}, "another model id"),
        Variant("temperature", {"qa.temperature": 1.0}, "temperature 1.0"),
        Variant("temperature-spelling", {"temperature_spelling": "integer"}, "0 for 0.0 in JSON"),
        Variant("max-tokens", {"qa.max_tokens": 1024}, "a budget of 1024 tokens"),
        Variant("stream", {"qa.stream": True}, "streamed"),
        Variant("key-order", {"sorts_keys": False}, "JSON keys in the order of writing"),
        Variant("escapes", {"escapes_non_ascii": True}, "non-ASCII letters escaped"),
    ]
    return {variant.name: variant for variant in variants}


CATALOGUE = _catalogue()
"""Every variant that changes a single detail, by name."""

HISTORICAL_VARIANT = Variant(HISTORICAL_NAME, {}, "the protocol as it is")
PUBLISHED = {
    "run1": Variant(
        "run1",
        {"session_header": BRACKET_HEADER, "fact_ids": "raw", "fact_separator": "\n"},
        "brackets, raw ids, single newline (deer-flow ea6d08be)",
    ),
    "run2": Variant(
        "run2",
        {"fact_ids": "raw", "fact_separator": "\n"},
        "raw ids, single newline (deer-flow 497ff3d0)",
    ),
    "run3": Variant("run3", {}, "the final run (deer-flow 01f99d61)"),
}
"""The published runs of PR #4810, as variants of the final one."""

VARIANTS = {HISTORICAL_NAME: HISTORICAL_VARIANT, **PUBLISHED, **CATALOGUE}

UNSEEN = {
    "clock": "the metadata are dated from the clock, so every age and score stays",
    "access-half-life": "heat is dated at the clock, so none has decayed",
    "confirmation-half-life": "the scores move, and no fact of a pool crosses the capacity",
    "weights": "the scores move, and no fact of a pool crosses the capacity",
    "no-reserve": "at this capacity the corrections stay by their scores",
    "draw-order": "the ids list the distractors as they were drawn, and no support fact ties",
    "loss-rank-order": "sorted by id, each case keeps the rank that it has",
    "all-turns": "the unmarked sessions of the pools, if any, hold user turns only",
    "no-fallback": "no session without a marked turn stands in the pools",
    "nfd": "no text of the pools holds a letter that NFD takes apart",
    "escapes": "no text of the pools holds a letter beyond ASCII",
}
"""Why the requests of a protocol may not show a variant that changed something above them, or nothing."""


def varied(protocol: Protocol, variant: Variant) -> Protocol:
    """Return a protocol with the changes of a variant.

    Raises
    ------
    DeermemEvalError
        The variant names a setting that there is not.
    """
    config, details = protocol.config, {}
    for key, value in variant.changes.items():
        if key in DETAIL_NAMES:
            details[key] = value
        else:
            config = _changed(config, key.split("."), value, variant.name)
    return replace(protocol, config=config, details=replace(protocol.details, **details))


def _changed(part: Any, path: list[str], value: Any, name: str) -> Any:
    """Return a copy of a config part with one value changed, which may be one no file may have."""
    if path[0] not in type(part).model_fields:
        raise DeermemEvalError(f"variant {name}: the protocol has no setting {path[0]!r}")
    there = getattr(part, path[0])
    if path[1:]:
        value = _changed(there, path[1:], value, name)
    elif isinstance(value, timedelta):
        value = there + value
    return part.model_copy(update={path[0]: value})
