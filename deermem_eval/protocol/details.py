"""Details: what fixes a run beside the protocol's files, as named settings of the one pipeline.

The defaults are the historical protocol's (deer-flow PR #4810). No file sets them: `deermem_eval.drift`
does, to see which layer of a run notices.
"""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Details:
    r"""The details of evidence, pools, decisions and requests.

    Attributes
    ----------
    session_header : str
        With `{session_id}` and `{date}`; one line above each session of the evidence.
    session_separator : str
        Between two sessions of the evidence.
    role_case : {"upper", "lower", "title"}
        How `user` and `assistant` are written in the evidence.
    evidence_fallback : {"user turns", "all turns", "none"}
        What a session without a marked turn gives.
    bank_order : {"question-id", "question-id descending"}
        In which order the bank takes its candidates.
    offset_bytes : int
        Leading bytes of the SHA-256 that gives a case's first distractor, 1..32.
    wraps_around : bool
        Whether a draw goes on at the bank's start; else its offset leaves room at the end.
    fact_ids : {"prefixed", "raw"}
        `gold_{case}` and `d_{case}_{i}_{record}`, or the ids of case and record alone.
    loss_rank_order : {"type and id", "id"}
        In which order a scenario's cases get the manifest's loss ranks.
    confidence_step : float
        By how much confidence falls from one distractor to the next, in the official scenarios.
    confirmed_parity : {0, 1}
        Whether noisy distractors of even (0) or odd (1) index are the confirmed ones.
    tie_break : {"input", "reversed input"}
        Which of two facts with the same score stands first.
    memory_order : {"fact-id", "score"}
        In which order a request lists the kept facts.
    fact_separator : str
        Between two facts of a request.
    has_current_date : bool
        Whether a request carries its case's date.
    has_trailing_newline : bool
        Whether the user message ends with a newline.
    line_ends : {"\n", "\r\n"}
    unicode_form : {"as it is", "NFC", "NFD"}
    temperature_spelling : {"float", "integer"}
        `0.0` or `0` in the request's JSON.
    sorts_keys : bool
        Whether the request's JSON has sorted keys; else `model` first.
    escapes_non_ascii : bool
        Whether the request's JSON writes `\u00e9` for `é`.
    """

    session_header: str = "SESSION {session_id} AT {date}"
    session_separator: str = "\n\n"
    role_case: Literal["upper", "lower", "title"] = "upper"
    evidence_fallback: Literal["user turns", "all turns", "none"] = "user turns"
    bank_order: Literal["question-id", "question-id descending"] = "question-id"
    offset_bytes: int = 4
    wraps_around: bool = True
    fact_ids: Literal["prefixed", "raw"] = "prefixed"
    loss_rank_order: Literal["type and id", "id"] = "type and id"
    confidence_step: float = 0.02
    confirmed_parity: Literal[0, 1] = 1
    tie_break: Literal["input", "reversed input"] = "input"
    memory_order: Literal["fact-id", "score"] = "fact-id"
    fact_separator: str = "\n\n"
    has_current_date: bool = True
    has_trailing_newline: bool = False
    line_ends: Literal["\n", "\r\n"] = "\n"
    unicode_form: Literal["as it is", "NFC", "NFD"] = "as it is"
    temperature_spelling: Literal["float", "integer"] = "float"
    sorts_keys: bool = True
    escapes_non_ascii: bool = False


HISTORICAL = Details()
"""The details of the final published run, and of every protocol that is read from files."""
